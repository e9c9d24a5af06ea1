import type { JSX } from 'preact';
import { get } from '../api/http';
import type { Overview, Session } from '../api/types';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { PageHead } from '../components/page_head';
import { Table, type Column } from '../components/table';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { count, counted, duration } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { useResource } from '../lib/use_resource';
import { useHas } from '../state/me';
import { href, place, query, setParams } from '../state/router';

function leaseLeft(session: Session, now: number): number | null {
  if (session.lease_left_s !== undefined) return session.lease_left_s;
  return session.expires_at ? (Date.parse(session.expires_at) - now) / 1000 : null;
}

export function WorkersPage(): JSX.Element {
  useStore(place);
  const params = query();
  const now = useNow();
  const has = useHas('/v1/sessions');
  const read = useResource(`sessions ${String(has)} ${params.get('ns') ?? ''}`, async (signal) => (
    has ? (await get<{ sessions: Session[] }>('v1/sessions', {}, { signal })).sessions : (await get<Overview>('v1/overview', {}, { signal })).sessions
  ), { enabled: has !== undefined, everyMs: 3000 });
  const queue = params.get('queue');
  const search = params.get('text') ?? '';
  const sessions = (read.data ?? []).filter((session) => (!queue || session.queues.includes(queue)) && (search === '' || `${session.worker} ${session.host} ${session.build ?? ''}`.includes(search)));
  const isLost = (session: Session): boolean => session.lost ?? (leaseLeft(session, now) ?? 1) <= 0;
  const builds = new Map<string, number>();
  for (const session of read.data ?? []) builds.set(session.build ?? 'no build named', (builds.get(session.build ?? 'no build named') ?? 0) + 1);
  const columns: Column<Session>[] = [
    { name: 'state', label: 'State', cell: (session) => isLost(session) ? <span class="tag bad">lost</span> : session.running > 0 ? <span class="tag run">busy</span> : <span class="tag">idle</span> },
    { name: 'worker', label: 'Worker', kind: 'wide', cell: (session) => <Text value={session.worker} /> },
    { name: 'host', label: 'Host', cell: (session) => <><Text value={session.host} /> <span class="dim num">{session.pid}</span></> },
    { name: 'build', label: 'Build', cell: (session) => <Text value={session.build} /> },
    { name: 'queues', label: 'Queues', kind: 'wide', cell: (session) => <>{session.queues.slice(0, 6).map((each) => <a key={each} class="tag" href={href(`queues/${encodeURIComponent(each)}`)}><Text value={each} /></a>)}{session.queues.length > 6 && <span class="dim">and {session.queues.length - 6} more</span>}</> },
    { name: 'tasks', label: 'Handlers', kind: 'wide', cell: (session) => session.tasks.length === 0 ? <span class="dim">any task</span> : <Text value={session.tasks.slice(0, 5).join(', ') + (session.tasks.length > 5 ? ` and ${session.tasks.length - 5} more` : '')} /> },
    { name: 'running', label: 'Running', kind: 'number', cell: (session) => <span class={session.running === 0 ? 'zero' : ''}>{count(session.running)}</span> },
    { name: 'lease', label: 'Lease left', kind: 'number', cell: (session) => { const left = leaseLeft(session, now); return left === null ? '–' : <span class={left < 5 ? 'bad num' : 'num'}>{left <= 0 ? 'over' : duration(Math.floor(left))}</span>; } },
    ...(has ? [{ name: 'rate', label: 'Done/min', kind: 'number' as const, cell: (session: Session) => count(session.throughput_per_min) }] : []),
    { name: 'started', label: 'Started', kind: 'number', cell: (session) => <Ago at={session.started_at} /> },
  ];
  return (
    <>
      <PageHead title="Workers" sub={read.data ? `${counted(read.data.length, 'session')}${[...builds].length > 1 ? ` · builds: ${[...builds].map(([build, number]) => `${build} (${number})`).join(', ')}` : ''}` : undefined} />
      <div class="filter-bar">
        <form role="search" class="search" onSubmit={(event) => event.preventDefault()}>
          <input type="search" aria-label="Search workers" placeholder="Worker, host or build" value={search} maxLength={200} onInput={(event) => setParams({ text: event.currentTarget.value }, true)} />
          <kbd aria-hidden="true">/</kbd>
        </form>
        {queue && <span class="chip"><span class="dim">queue</span> <Text value={queue} /><button type="button" class="ghost" aria-label="Remove the filter queue" onClick={() => setParams({ queue: null })}>×</button></span>}
      </div>
      <ErrorNote error={read.data ? undefined : read.error} retry={read.reload} what="Reading the workers" />
      {!read.data && !read.error ? <Loading what="workers" /> : sessions.length > 0 ? (
        <Table label="Workers" rows={sessions} id={(session) => session.id} columns={columns} rowClass={(session) => (isLost(session) ? 'lost' : '')} />
      ) : read.data && (
        <Empty title={read.data.length === 0 ? 'No workers' : 'No worker matches'}>
          <p>A program with handlers is a worker (<code>app.work()</code>), and so is any program on the command line:</p>
          <pre class="mono">hapax work --queue {queue ?? 'default'} --exec ./handler.sh</pre>
        </Empty>
      )}
    </>
  );
}
