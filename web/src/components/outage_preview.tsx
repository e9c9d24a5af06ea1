// What would this outage have done: the runs that each misfire policy makes of a span in which everything was down.
import type { JSX } from 'preact';
import { get } from '../api/http';
import type { MisfirePreview, Preview } from '../api/types';
import { count, counted, duration } from '../lib/format';
import { useResource } from '../lib/use_resource';
import { ErrorNote, Loading } from './notes';
import { At } from './time';
import type { Span } from './timeline';

const says: Record<string, string> = {
  skip: 'drops what was missed',
  catchup: 'runs the newest missed ones, each as itself',
  compress: 'runs once for all that was missed',
};

function local(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60e3);
  return date.toISOString().slice(0, 19);
}

export function OutagePreview({ id, span, onSpan, onBackfill, mayBackfill }: {
  id: string; span: Span | null; onSpan: (span: Span | null) => void; onBackfill: () => void; mayBackfill: boolean;
}): JSX.Element {
  const seconds = span ? Math.max(1, Math.round((span.to - span.from) / 1000)) : 0;
  const told = useResource(`outage ${id} ${span?.from ?? 0} ${seconds}`, (signal) => get<Preview>(`v1/activities/${encodeURIComponent(id)}/preview`, {
    from: new Date(span?.from ?? 0).toISOString(), down: `${seconds}s`, count: 1,
  }, { signal }), { enabled: span !== null });
  const change = (which: 'from' | 'to', text: string): void => {
    const at = Date.parse(text);
    if (Number.isNaN(at)) return;
    const next = { from: span?.from ?? at - 3600e3, to: span?.to ?? at + 3600e3, [which]: at };
    if (next.from < next.to) onSpan(next);
  };
  return (
    <section class="outage">
      <div class="section-head"><h2>What would this outage do?</h2>
        {span && <div class="actions">{mayBackfill && <button type="button" onClick={onBackfill}>Backfill the span…</button>}<button type="button" class="ghost" onClick={() => onSpan(null)}>clear</button></div>}
      </div>
      <div class="row">
        <label class="field inline"><span>Down from</span><input type="datetime-local" step="1" value={span ? local(span.from) : ''} onChange={(event) => change('from', event.currentTarget.value)} /></label>
        <label class="field inline"><span>until</span><input type="datetime-local" step="1" value={span ? local(span.to) : ''} onChange={(event) => change('to', event.currentTarget.value)} /></label>
        {span && <span class="dim">down for <b class="num">{duration(seconds)}</b></span>}
        {!span && [['last night, 8 h', 8], ['the last day', 24]].map(([label, hours]) => (
          <button key={String(label)} type="button" class="small" onClick={() => onSpan({ from: Date.now() - Number(hours) * 3600e3, to: Date.now() })}>{label}</button>
        ))}
      </div>
      {span && <ErrorNote error={told.error} retry={told.reload} what="Asking what it would do" />}
      {span && !told.data && !told.error && <Loading what="the runs" />}
      {span && told.data?.outage && (
        <div class="policies">
          {told.data.outage.policies.map((policy) => <Policy key={policy.policy} policy={policy} />)}
        </div>
      )}
    </section>
  );
}

function Policy({ policy }: { policy: MisfirePreview }): JSX.Element {
  const missed = policy.runs.filter((run) => run.missed);
  return (
    <article class={policy.own ? 'policy own' : 'policy'}>
      <h3><code>{policy.policy}</code>{policy.own && <span class="tag">its policy</span>}</h3>
      <p class="dim">{says[policy.policy] ?? ''}</p>
      <p><b class="num">{counted(policy.runs.length, 'run')}</b>{policy.more ? ' or more' : ''}{missed.length > 0 && missed.length < policy.runs.length ? `, ${count(missed.length)} of them late` : ''}{policy.dropped > 0 && <>, <b class="num">{count(policy.dropped)}</b> dropped</>}</p>
      <ul>
        {policy.runs.slice(0, 12).map((run) => (
          <li key={run.run_id}>
            <At at={run.scheduled_for} />
            {run.window && <span class="dim"> for {counted(run.window.missed, 'tick')} from <At at={run.window.from} /></span>}
          </li>
        ))}
        {policy.runs.length > 12 && <li class="dim">and {count(policy.runs.length - 12)} more</li>}
      </ul>
    </article>
  );
}
