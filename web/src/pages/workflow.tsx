// A workflow's journal as a waterfall: steps, tasks, timers, signals, children, compensation, over time.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { get } from '../api/http';
import type { Execution, JournalEntry } from '../api/types';
import { ForkDialog, SignalDialog } from '../components/execution_dialogs';
import { JsonView } from '../components/json_view';
import { Empty, toast } from '../components/notes';
import { Fields } from '../components/page_head';
import { StatusBadge, statusLabel } from '../components/status';
import { LongText, Text } from '../components/text';
import { Ago, At, Took } from '../components/time';
import { clock, count, day, duration } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { useShortcuts } from '../state/keyboard';
import { useMay } from '../state/me';
import { href, query, setParams } from '../state/router';
import { settings } from '../state/settings';

const rowsAtOnce = 300;

// Entries that only record a value or a decision of the code are points; they can be left out.
const points = new Set(['started', 'choice', 'now', 'random', 'patch', 'uuid']);

function isOpen(entry: JournalEntry, e: Execution, now: number): boolean {
  const over = e.status !== 'pending' && e.status !== 'running';
  if (over) return false;
  if (entry.kind === 'timer') return entry.ended_at !== null && Date.parse(entry.ended_at) > now;
  return entry.status === 'waiting' || entry.status === 'retrying';
}

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The time that a bar took stands behind the bar, before it, or in it, where there is room.
function tookPlace(begin: number, end: number): { class: string; style: Record<string, string> } {
  if (end <= 82) return { class: 'waterfall-took', style: { left: `${end}%` } };
  if (begin >= 18) return { class: 'waterfall-took', style: { right: `${100 - begin}%` } };
  return { class: 'waterfall-took inside', style: { right: `${100 - end}%` } };
}

export function WorkflowTab({ e, onChange }: { e: Execution; onChange: () => void }): JSX.Element {
  const now = useNow();
  const { zone } = useStore(settings);
  const journal = e.journal ?? [];
  const chosen = query().get('step');
  const all = query().get('points') === 'all';
  const [shown, setShown] = useState(rowsAtOnce);
  const [asking, setAsking] = useState<'fork' | 'signal' | null>(null);
  const admin = useMay('admin');
  const enqueue = useMay('enqueue');
  const over = e.status !== 'pending' && e.status !== 'running';

  const rows = useMemo(() => journal.filter((entry) => all || !points.has(entry.kind)), [journal, all]);
  const waits = journal.filter((entry) => isOpen(entry, e, now));
  const from = Date.parse(e.created_at);
  // A timer in the far future must not squeeze what has happened: the axis ends at now, or where it ended.
  const to = Math.max(from + 1, e.finished_at ? Date.parse(e.finished_at) : now);
  const span = to - from;
  const percent = (at: number): number => Math.min(100, Math.max(0, ((at - from) / span) * 100));
  const entry = chosen === null ? undefined : journal.find((each) => String(each.position) === chosen);
  const place = rows.findIndex((each) => String(each.position) === chosen);
  const choose = (position: number | null): void => setParams({ step: position }, true);
  useShortcuts('Journal', [
    { keys: 'j', does: 'next entry', run: () => { const next = rows[Math.min(rows.length - 1, place + 1)]; if (next) choose(next.position); } },
    { keys: 'k', does: 'entry before', run: () => { const next = rows[Math.max(0, place - 1)]; if (next) choose(next.position); } },
    { keys: 'Escape', does: 'close the entry', run: () => choose(null) },
  ]);

  if (journal.length === 0) {
    return <Empty title="Its journal is empty"><p>The workflow has not begun. The summary says why.</p></Empty>;
  }
  return (
    <>
      <div class="workflow-head">
        <p>
          {waits.length === 0
            ? over ? <>It took <b class="num">{duration(span / 1000)}</b> and {count(journal.length)} entries.</> : <>It has {count(journal.length)} entries; its code runs now, or waits for a worker.</>
            : <>It waits for {waits.slice(0, 5).map((wait, index) => <span key={wait.position}>{index > 0 && ', '}<b>{wait.kind} <Text value={wait.name ?? ''} /></b>{wait.kind === 'timer' && <> (<Ago at={wait.ended_at} />)</>}</span>)}{waits.length > 5 && ` and ${waits.length - 5} more`}.</>}
        </p>
        <div class="actions">
          <label class="check"><input type="checkbox" checked={all} onChange={(event) => setParams({ points: event.currentTarget.checked ? 'all' : null }, true)} /> recorded values too</label>
          {waits.some((wait) => wait.kind === 'signal') && enqueue && <button type="button" onClick={() => setAsking('signal')}>Send the signal…</button>}
          <button
            type="button"
            onClick={() => void get<string>(`v1/executions/${e.id}/journal`, { format: 'export' }, { text: true }).then(
              (text) => download(`${(e.task_id ?? e.id).replace(/[^\w.-]+/g, '_')}.journal.json`, text), (error: Error) => toast(error.message, true))}
          >
            Save the journal
          </button>
        </div>
      </div>
      <div class={entry ? 'waterfall-split open' : 'waterfall-split'}>
        <div class="waterfall" role="list" aria-label="Journal">
          <div class="waterfall-axis" aria-hidden="true">
            {[0, 0.25, 0.5, 0.75, 1].map((part) => (
              <span key={part} style={{ left: `${part * 100}%` }} class={part === 1 ? 'last' : ''}>{part === 0 ? `${day(from, zone)} ${clock(from, zone, true)}` : `+${duration((span * part) / 1000)}`}</span>
            ))}
          </div>
          {rows.slice(0, shown).map((each) => {
            const begin = Date.parse(each.at);
            const open = isOpen(each, e, now);
            const end = open ? to : each.ended_at ? Math.min(to, Date.parse(each.ended_at)) : begin;
            const point = !open && each.ended_at === null;
            const label = `${each.position}: ${each.kind} ${each.name ?? ''}, ${open ? 'waiting' : each.status}${point ? '' : `, ${duration((end - begin) / 1000)}`}`;
            return (
              <div key={each.position} role="listitem">
              <button
                type="button" title={label} aria-pressed={String(each.position) === chosen}
                class={`waterfall-row kind-${each.kind} is-${each.status}${open ? ' is-open' : ''}${String(each.position) === chosen ? ' chosen' : ''}`}
                onClick={() => choose(String(each.position) === chosen ? null : each.position)}
              >
                <span class="waterfall-label"><span class="num dim">{each.position}</span> <span class="kind">{each.kind}</span> <Text value={each.name ?? ''} />{each.attempts > 1 && <span class="tag warn">{each.attempts}×</span>}<span class="sr">, {open ? 'waiting' : statusLabel(each.status)},</span></span>
                <span class="waterfall-lane">
                  <span class={point ? 'waterfall-point' : 'waterfall-bar'} style={{ left: `${percent(begin)}%`, width: point ? '' : `${Math.max(0.3, percent(end) - percent(begin))}%` }} />
                  {!point && <span {...tookPlace(percent(begin), percent(end))}>{duration((end - begin) / 1000)}</span>}
                </span>
              </button>
              </div>
            );
          })}
          {rows.length > shown && <button type="button" class="link" onClick={() => setShown(shown + rowsAtOnce)}>show {count(Math.min(rowsAtOnce, rows.length - shown))} of {count(rows.length - shown)} more</button>}
        </div>
        {entry && (
          <aside class="step" aria-label={`Entry ${entry.position}`}>
            <header>
              <h2><span class="kind">{entry.kind}</span> <Text value={entry.name ?? ''} /></h2>
              <button type="button" class="ghost" aria-label="Close the entry" onClick={() => choose(null)}>×</button>
            </header>
            <Fields items={[
              ['Status', <StatusBadge status={entry.status} />],
              ['At', <At at={entry.at} />],
              entry.ended_at !== null && [entry.kind === 'timer' ? 'Fires' : 'Ended', <At at={entry.ended_at} />],
              entry.ended_at !== null && ['Took', <Took from={entry.at} to={entry.ended_at} />],
              entry.attempts > 1 && ['Attempts', <span class="num">{entry.attempts}</span>],
              entry.child !== null && ['Execution', <a class="mono" href={href(`executions/${entry.child}`)}>{entry.child}</a>],
            ]} />
            {entry.detail && <LongText value={entry.detail} />}
            {entry.error && <div class="error-box"><strong><Text value={entry.error.type} /></strong><LongText value={entry.error.message} /></div>}
            {entry.input !== null && entry.input !== undefined && <JsonView title="Input" value={entry.input} />}
            {entry.result !== null && entry.result !== undefined && <JsonView title="Result" value={entry.result} />}
            {admin && <button type="button" onClick={() => setAsking('fork')}>Fork from here…</button>}
          </aside>
        )}
      </div>
      {asking === 'fork' && entry && <ForkDialog e={e} steps={entry.position} onClose={() => setAsking(null)} />}
      {asking === 'signal' && <SignalDialog e={e} name="" onClose={() => setAsking(null)} onDone={onChange} />}
    </>
  );
}
