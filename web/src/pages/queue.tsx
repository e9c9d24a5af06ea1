// One queue: its figures over time, limits that are edited in place, and the acts on all of it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { get, post } from '../api/http';
import type { Overview, Queue } from '../api/types';
import { Ask } from '../components/dialog';
import { FlowPlots } from '../components/flow_plots';
import { LimitsForm } from '../components/limits_form';
import { Empty, ErrorNote, Loading, toast } from '../components/notes';
import { PageHead } from '../components/page_head';
import { queueState } from '../components/queue_table';
import { Text } from '../components/text';
import { count, counted, duration, parseDuration } from '../lib/format';
import { useStore } from '../lib/store';
import { useAct, useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { href, place, query } from '../state/router';
import { takeSample } from '../state/samples';

type Asking = 'purge' | 'move' | 'drain';

export function QueuePage({ name }: { name: string }): JSX.Element {
  useStore(place);
  const path = `v1/queues/${encodeURIComponent(name)}`;
  const namespace = query().get('ns') ?? '';
  const queue = useResource(`queue ${name} ${namespace}`, (signal) => get<Queue>(path, {}, { signal }), { everyMs: 2000 });
  const overview = useResource(`overview ${namespace}`, (signal) => get<Overview>('v1/overview', {}, { signal }), { everyMs: 3000 });
  const hasStats = useHas('/v1/stats');
  const may = useMay('admin');
  const [asking, setAsking] = useState<Asking | null>(null);
  const { busy, error, run } = useAct();
  useEffect(() => {
    if (overview.data) takeSample(overview.data);
  }, [overview.data]);
  const data = queue.data;
  if (!data) return queue.error ? <ErrorNote error={queue.error} retry={queue.reload} what="Reading the queue" /> : <Loading what="the queue" />;
  const act = (verb: 'pause' | 'resume', said: string) => (): void => void run(async () => {
    queue.change(await post<Queue>(`${path}/${verb}`));
    toast(`${name} ${said}`);
  });
  const workers = (overview.data?.sessions ?? []).filter((session) => session.queues.includes(name));
  const age = parseDuration(data.oldest_ready);
  const figures: [string, number | string, string][] = [
    ['ready', count(data.ready), href('executions', { queue: name, status: 'pending' })],
    ['running', count(data.running), href('executions', { queue: name, status: 'running' })],
    ['delayed', count(data.delayed), href('executions', { queue: name, status: 'pending' })],
    ['parked behind a key', count(data.parked), href('executions', { queue: name, status: 'pending' })],
    ['dead letters', count(data.dead), href('dead-letters', { queue: name })],
    ['oldest ready', age === null ? '–' : duration(age), href('executions', { queue: name, status: 'pending' })],
    ['completed in the last minute', count(data.completed_last_minute), href('executions', { queue: name, status: 'completed' })],
    ['workers', count(workers.length), href('workers', { queue: name })],
  ];
  return (
    <>
      <p class="crumbs"><a href={href('queues')}>Queues</a> /</p>
      <PageHead title={<><Text value={name} /> {queueState(data)}</>} sub={data.paused ? 'Workers claim nothing from it.' : data.draining ? 'It takes nothing new and finishes what it has.' : undefined}>
        {may && (data.paused || data.draining
          ? <button type="button" class="primary" disabled={busy} onClick={act('resume', 'goes on')}>Resume</button>
          : <button type="button" disabled={busy} onClick={act('pause', 'is paused')}>Pause</button>)}
        {may && !data.draining && <button type="button" onClick={() => setAsking('drain')}>Drain…</button>}
        {may && <button type="button" onClick={() => setAsking('move')}>Move…</button>}
        {may && <button type="button" class="danger-ghost" onClick={() => setAsking('purge')}>Purge…</button>}
      </PageHead>
      <ErrorNote error={error} />
      <div class="figures">
        {figures.map(([label, value, to]) => (
          <a key={label} class="figure" href={to}><span class="figure-value num">{value}</span><span class="figure-label">{label}</span></a>
        ))}
      </div>
      {workers.length === 0 && overview.data && data.ready > 0 && !data.paused && (
        <p class="note note-warn">No worker has this queue, and {counted(data.ready, 'execution waits', 'executions wait')}. Start one: <code>hapax work --queue {name} --exec PROGRAM</code></p>
      )}
      <section>
        <h2>Limits and retention</h2>
        <LimitsForm queue={data} may={may} onSaved={queue.change} />
      </section>
      {hasStats !== undefined && <FlowPlots history={hasStats} queue={name} />}
      {asking === 'purge' && <Purge queue={data} onClose={() => setAsking(null)} onDone={queue.reload} />}
      {asking === 'move' && <Move queue={data} others={(overview.data?.queues ?? []).map((each) => each.queue).filter((each) => each !== name)} onClose={() => setAsking(null)} onDone={queue.reload} />}
      {asking === 'drain' && (
        <Ask title={`Drain ${name}?`} yes="Drain it" onClose={() => setAsking(null)} act={async () => queue.change(await post<Queue>(`${path}/drain`))}>
          <p>It refuses new executions (409 <code>QueueDraining</code>) and finishes what it has. Resume ends it.</p>
        </Ask>
      )}
      {overview.data && overview.data.queues.length === 0 && <Empty title="The queue is not there any more" />}
    </>
  );
}

function Purge({ queue, onClose, onDone }: { queue: Queue; onClose: () => void; onDone: () => void }): JSX.Element {
  const pending = queue.ready + queue.delayed + queue.parked;
  const [typed, setTyped] = useState('');
  return (
    <Ask
      title={`Cancel ${counted(pending, 'pending execution')} of ${queue.queue}?`} yes={`Cancel ${count(pending)}`} danger disabled={typed !== queue.queue} onClose={onClose}
      act={async () => {
        const answer = await post<{ purged: number; requested: number; more?: boolean }>(`v1/queues/${encodeURIComponent(queue.queue)}/purge`);
        toast(`${count(answer.purged)} cancelled, ${counted(answer.requested, 'workflow')} asked to end${answer.more ? '; there is more, ask again' : ''}`);
        onDone();
      }}
    >
      <p>Everything that is ready, delayed or parked in it now is cancelled. What runs goes on; workflows that have begun are asked to end.</p>
      <label class="field"><span>Type the queue's name to go on</span><input data-first value={typed} onInput={(event) => setTyped(event.currentTarget.value)} /></label>
    </Ask>
  );
}

function Move({ queue, others, onClose, onDone }: { queue: Queue; others: string[]; onClose: () => void; onDone: () => void }): JSX.Element {
  const [to, setTo] = useState('');
  const [limit, setLimit] = useState('');
  const [create, setCreate] = useState(false);
  const pending = queue.ready + queue.delayed + queue.parked;
  return (
    <Ask
      title={`Move what is pending in ${queue.queue}`} yes={`Move ${limit ? `at most ${limit}` : count(pending)}`} disabled={to === ''} onClose={onClose}
      act={async () => {
        const answer = await post<{ moved: number; more?: boolean }>(`v1/queues/${encodeURIComponent(queue.queue)}/move`, { to, ...(limit ? { limit: Number(limit) } : {}), ...(create ? { create: true } : {}) });
        toast(`${count(answer.moved)} moved to ${to}${answer.more ? '; there is more' : ''}`);
        onDone();
      }}
    >
      <label class="field"><span>To the queue</span><input data-first required list="queues-there" maxLength={200} value={to} onInput={(event) => setTo(event.currentTarget.value)} /><datalist id="queues-there">{others.map((each) => <option key={each} value={each} />)}</datalist></label>
      <label class="field"><span>At most so many (empty: all)</span><input type="number" min={1} value={limit} onInput={(event) => setLimit(event.currentTarget.value)} /></label>
      <label class="check"><input type="checkbox" checked={create} onChange={(event) => setCreate(event.currentTarget.checked)} /> make the queue if it is not there</label>
    </Ask>
  );
}
