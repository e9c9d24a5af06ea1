// Acts on the selected executions, or on all that match the filter: a preview of the count, one question that names it,
// and for servers with durable jobs their progress with a stop button.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, post } from '../api/http';
import type { Job } from '../api/types';
import { count, counted } from '../lib/format';
import { useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { Ask } from './dialog';
import { toast } from './notes';
import { Text } from './text';

export type BulkAct = 'cancel' | 'retry' | 'discard' | 'move';
const verbs: Record<BulkAct, string> = { cancel: 'Cancel', retry: 'Retry', discard: 'Discard', move: 'Move' };
const done: Record<BulkAct, string> = { cancel: 'cancelled or told to stop', retry: 'retried', discard: 'discarded', move: 'moved' };

export interface BulkTarget {
  ids: string[];
  // Set: all that match it, not the ids.
  filter: Record<string, unknown> | null;
  all: boolean;
  deadLetters?: boolean;
}

const idsAtOnce = 1000;

async function direct(act: BulkAct, target: BulkTarget, options: { reason: string; newEffectKey: boolean }): Promise<string> {
  const body: Record<string, unknown> = target.all ? (target.filter ? { filter: target.filter } : { all: true }) : { ids: target.ids.slice(0, idsAtOnce) };
  if (act === 'cancel') {
    const answer = await post<{ cancelled: number; requested: number; finished: number }>('v1/executions/cancel', { ...body, ...(options.reason ? { reason: options.reason } : {}) });
    return `${count(answer.cancelled)} cancelled, ${count(answer.requested)} told to stop, ${count(answer.finished)} had ended already`;
  }
  if (act === 'retry') {
    const path = target.deadLetters ? 'v1/dead-letters/retry' : 'v1/executions/retry';
    const answer = await post<{ retried: number; refused: number; more?: boolean }>(path, { ...body, ...(options.newEffectKey ? { new_effect_key: true } : {}) });
    return `${count(answer.retried)} retried, ${count(answer.refused)} refused${answer.more ? '; there is more to do, ask again' : ''}`;
  }
  const answer = await post<{ discarded: number; more?: boolean }>('v1/dead-letters/discard', body);
  return `${count(answer.discarded)} discarded${answer.more ? '; there is more to do, ask again' : ''}`;
}

export function BulkBar({ target, acts, matched, onDone, children }: {
  target: BulkTarget; acts: BulkAct[]; matched: number | undefined; onDone: () => void; children?: ComponentChildren;
}): JSX.Element | null {
  const may = useMay('admin');
  const [asking, setAsking] = useState<BulkAct | null>(null);
  const [job, setJob] = useState<string | null>(null);
  const hasJobs = useHas('/v1/jobs', 'post') === true;
  const chosen = target.all || target.ids.length > 0;
  if (!chosen && job === null) return null;
  const usable = acts.filter((act) => act !== 'move' || (hasJobs && target.all));
  return (
    <div class="bulk-bar" role="region" aria-label="Selection">
      {chosen && (
        <>
          <strong class="num">{target.all ? (matched === undefined ? 'All that match' : `All ${counted(matched, 'match', 'that match')}`) : counted(target.ids.length, 'selected', 'selected')}</strong>
          {children}
          {may && usable.map((act) => (
            <button key={act} type="button" class={act === 'retry' ? '' : 'danger-ghost'} onClick={() => setAsking(act)}>{verbs[act]}…</button>
          ))}
        </>
      )}
      {job !== null && <JobProgress id={job} onEnd={onDone} onClose={() => setJob(null)} />}
      {asking && (
        <AskBulk
          act={asking} target={target} matched={matched} jobs={hasJobs && target.all} onClose={() => setAsking(null)}
          onJob={setJob} onDone={onDone}
        />
      )}
    </div>
  );
}

function AskBulk({ act, target, matched, jobs, onClose, onJob, onDone }: {
  act: BulkAct; target: BulkTarget; matched: number | undefined; jobs: boolean; onClose: () => void; onJob: (id: string) => void; onDone: () => void;
}): JSX.Element {
  const [reason, setReason] = useState('');
  const [toQueue, setToQueue] = useState('');
  const [rate, setRate] = useState('');
  const [newEffectKey, setNewEffectKey] = useState(false);
  const filter = target.filter ?? {};
  // The server's own count of what the act would touch.
  const preview = useResource(`preview ${act} ${JSON.stringify(filter)}`, (signal) => post<{ count: number; exact: boolean }>('v1/jobs', { act, filter, dry_run: true, ...(act === 'move' ? { to_queue: 'preview' } : {}) }, { signal }), { enabled: jobs });
  const known = preview.data?.count ?? (target.all ? matched : target.ids.length);
  const many = known === undefined ? 'all that match' : `${count(known)}${preview.data && !preview.data.exact ? '+' : ''}`;
  return (
    <Ask
      title={`${verbs[act]} ${many === 'all that match' ? many : counted(known ?? 0, 'execution')}?`}
      yes={`${verbs[act]} ${many}`}
      danger={act !== 'retry'}
      disabled={known === 0}
      onClose={onClose}
      act={async () => {
        if (jobs) {
          const job = await post<Job>('v1/jobs', {
            act, filter, ...(reason ? { reason } : {}), ...(rate ? { rate_per_s: Number(rate) } : {}), ...(act === 'move' ? { to_queue: toQueue } : {}),
          });
          onJob(job.id);
          return;
        }
        toast(await direct(act, target, { reason, newEffectKey }));
        onDone();
      }}
    >
      <p>
        {target.all ? 'This acts on everything that matches the filter, on all pages' : `This acts on ${counted(known ?? 0, 'selected execution')}`}
        {target.all && Object.keys(filter).length > 0 && <>: <Text value={Object.entries(filter).map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`).join(', ')} /></>}.
        {act === 'discard' && ' The history stays; they leave the dead-letter list.'}
        {act === 'cancel' && ' Pending ones end at once, running ones are told to stop.'}
      </p>
      {act === 'cancel' && <label class="field"><span>Reason, kept with each</span><input data-first value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} /></label>}
      {act === 'move' && <label class="field"><span>To the queue</span><input data-first required value={toQueue} maxLength={200} onInput={(event) => setToQueue(event.currentTarget.value)} /></label>}
      {act === 'retry' && !jobs && <label class="check"><input type="checkbox" checked={newEffectKey} onChange={(event) => setNewEffectKey(event.currentTarget.checked)} /> with new effect keys (effects are taken for new ones)</label>}
      {jobs && <label class="field"><span>At most so many a second (empty: as fast as it goes)</span><input type="number" min={1} max={100000} value={rate} onInput={(event) => setRate(event.currentTarget.value)} /></label>}
    </Ask>
  );
}

export function JobProgress({ id, onEnd, onClose }: { id: string; onEnd?: () => void; onClose?: () => void }): JSX.Element {
  const [ended, setEnded] = useState(false);
  const job = useResource(`job ${id}`, async (signal) => {
    const read = await get<Job>(`v1/jobs/${id}`, {}, { signal });
    if (!ended && (read.state === 'completed' || read.state === 'cancelled')) {
      setEnded(true);
      onEnd?.();
    }
    return read;
  }, ended ? {} : { everyMs: 700 });
  const may = useMay('admin');
  const data = job.data;
  if (!data) return <span class="dim">starting…</span>;
  const whole = Math.max(1, data.matched);
  const act = (name: string) => (): void => void post(`v1/jobs/${id}/${name}`).then(job.reload, (error: Error) => toast(error.message, true));
  return (
    <div class="job">
      <progress max={whole} value={data.done + data.refused} aria-label={`${verbs[data.act]}: progress`} />
      <span class="num">{count(data.done)} of {count(data.matched)} {done[data.act]}{data.refused > 0 ? `, ${count(data.refused)} refused` : ''} · {data.state}</span>
      {may && data.state === 'running' && <button type="button" class="small" onClick={act('pause')}>Pause</button>}
      {may && data.state === 'paused' && <button type="button" class="small" onClick={act('resume')}>Resume</button>}
      {may && (data.state === 'running' || data.state === 'paused') && <button type="button" class="small danger-ghost" onClick={act('cancel')}>Stop</button>}
      {ended && onClose && <button type="button" class="small" onClick={onClose}>Close</button>}
    </div>
  );
}
