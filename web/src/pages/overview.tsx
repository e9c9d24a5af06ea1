// Overview: is anything wrong, and how does it run now.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { get } from '../api/http';
import type { Overview } from '../api/types';
import { Attention } from '../components/attention';
import { Ago } from '../components/time';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { PageHead } from '../components/page_head';
import { QueueTable } from '../components/queue_table';
import { StatusBadge } from '../components/status';
import { Text } from '../components/text';
import { count } from '../lib/format';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useHas } from '../state/me';
import { href, place, query } from '../state/router';
import { depthOf, takeSample } from '../state/samples';
import { FlowPlots } from '../components/flow_plots';

function Figure({ label, value, to, tone }: { label: string; value: number; to: string; tone?: string | undefined }): JSX.Element {
  return (
    <a class={`figure ${tone ?? ''}`} href={to}>
      <span class="figure-value num">{count(value)}</span>
      <span class="figure-label">{label}</span>
    </a>
  );
}

const sum = (overview: Overview, of: (queue: Overview['queues'][number]) => number): number =>
  overview.queues.reduce((total, queue) => total + of(queue), 0);

export function OverviewPage(): JSX.Element {
  useStore(place);
  const overview = useResource(`overview ${query().get('ns') ?? ''}`, (signal) => get<Overview>('v1/overview', {}, { signal }), { everyMs: 3000 });
  const data = overview.data;
  const hasStats = useHas('/v1/stats');
  useEffect(() => {
    if (data) takeSample(data);
  }, [data]);
  if (!data) return <>{overview.error ? <ErrorNote error={overview.error} retry={overview.reload} /> : <Loading what="the overview" />}</>;
  const nothingYet = data.queues.length === 0 && data.sessions.length === 0;
  const dead = sum(data, (queue) => queue.dead);
  const failed = sum(data, (queue) => queue.failed_last_minute);
  return (
    <>
      <PageHead title="Overview" sub={<>as of <Ago at={data.at} /></>} />
      <Attention overview={data} />
      <div class="figures">
        <Figure label="ready" value={sum(data, (queue) => queue.ready)} to={href('executions', { status: 'pending' })} />
        <Figure label="running" value={sum(data, (queue) => queue.running)} to={href('executions', { status: 'running' })} tone="run" />
        <Figure label="delayed or waiting" value={sum(data, (queue) => queue.delayed + queue.parked)} to={href('executions', { status: 'pending' })} />
        <Figure label="completed in the last minute" value={sum(data, (queue) => queue.completed_last_minute)} to={href('executions', { status: 'completed' })} tone="good" />
        <Figure label="failed in the last minute" value={failed} to={href('executions', { status: 'failed' })} tone={failed > 0 ? 'bad' : undefined} />
        <Figure label="dead letters" value={dead} to={href('dead-letters')} tone={dead > 0 ? 'bad' : undefined} />
        <Figure label="workers" value={data.sessions.length} to={href('workers')} />
      </div>
      {nothingYet ? (
        <Empty title="Nothing has been enqueued yet">
          <p>Enqueue something, run it, and watch it here:</p>
          <pre class="mono">hapax enqueue greet --input '{'{"name":"Ada"}'}'{'\n'}hapax work --exec cat</pre>
        </Empty>
      ) : (
        <>
          {hasStats !== undefined && <FlowPlots history={hasStats} />}
          <section class="split">
            <div>
              <div class="section-head"><h2>Queues</h2><a href={href('queues')}>all queues</a></div>
              <QueueTable queues={[...data.queues].sort((one, other) => depthOf(other) + other.running - depthOf(one) - one.running).slice(0, 12)} small />
            </div>
            <div>
              <div class="section-head"><h2>Newest failures</h2><a href={href('executions', { status: 'failed,timed_out' })}>all failures</a></div>
              {data.failures.length === 0 ? <p class="dim">None. Failures of the last days stand here, newest first.</p> : (
                <ul class="failures">
                  {data.failures.slice(0, 10).map((failure) => (
                    <li key={failure.id}>
                      <a href={href(`executions/${failure.id}`)}>
                        <StatusBadge status={failure.status} />
                        <span class="failure-task"><Text value={failure.task} /></span>
                        <span class="failure-error"><Text value={failure.error ? `${failure.error.type ? failure.error.type + ': ' : ''}${failure.error.message}` : 'no error was recorded'} /></span>
                        <Ago at={failure.finished_at} />
                      </a>
                    </li>
                  ))}
                </ul>
              )}
            </div>
          </section>
        </>
      )}
    </>
  );
}
