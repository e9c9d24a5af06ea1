// The plots of the overview and of one queue: from the server's minutes (GET /v1/stats) where it keeps them, else from
// what this page has seen since it was opened.
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { get } from '../api/http';
import type { Sample, Stats } from '../api/types';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { href, place, query, setParams } from '../state/router';
import { samples, type QueueSample } from '../state/samples';
import { ErrorNote } from './notes';
import { Plot } from './plot';

const spans: [string, number][] = [['15m', 15], ['1h', 60], ['6h', 360], ['24h', 1440]];

export function FlowPlots({ history, queue }: { history: boolean; queue?: string }): JSX.Element {
  return history ? <HistoryPlots queue={queue} /> : <SeenPlots queue={queue} />;
}

function HistoryPlots({ queue }: { queue: string | undefined }): JSX.Element {
  useStore(place);
  const span = spans.find(([name]) => name === query().get('span')) ?? spans[1]!;
  const stats = useResource(
    `stats ${queue ?? ''} ${span[1]} ${query().get('ns') ?? ''}`,
    (signal) => get<Stats>('v1/stats', { minutes: span[1], queue }, { signal }),
    { everyMs: span[1] <= 60 ? 10_000 : 60_000 },
  );
  const series = stats.data?.series ?? [];
  const times = useMemo(() => series.map((sample) => Date.parse(sample.at) / 1000), [series]);
  const of = (member: keyof Sample): (number | null)[] => series.map((sample) => sample[member] as number | null);
  const lines = useMemo(() => ({
    admitted: [
      { label: 'created', tone: 'accent' as const, values: of('created'), fill: true },
      { label: 'deduplicated', tone: 'soft' as const, values: of('deduplicated'), dash: true },
    ],
    ended: [
      { label: 'completed', tone: 'good' as const, values: of('completed'), fill: true },
      { label: 'failed', tone: 'bad' as const, values: of('failed') },
      { label: 'retried', tone: 'warn' as const, values: of('retried'), dash: true },
      { label: 'stale', tone: 'soft' as const, values: of('stale'), dash: true },
    ],
    depth: [{ label: 'depth', tone: 'accent' as const, values: of('depth'), fill: true }],
    oldest: [{ label: 'age of the oldest', tone: 'warn' as const, values: of('oldest_age_s'), fill: true }],
    wait: [
      { label: 'p50', tone: 'calm' as const, values: of('wait_p50_ms') },
      { label: 'p99', tone: 'warn' as const, values: of('wait_p99_ms'), dash: true },
    ],
    run: [
      { label: 'p50', tone: 'calm' as const, values: of('run_p50_ms') },
      { label: 'p99', tone: 'warn' as const, values: of('run_p99_ms'), dash: true },
    ],
  }), [series]);
  const marks = useMemo(() => (stats.data?.builds ?? []).map((build) => ({ at: Date.parse(build.at) / 1000, text: build.build })), [stats.data]);
  return (
    <section aria-label="Plots">
      <div class="section-head">
        <h2>Per minute</h2>
        <div class="segments" role="group" aria-label="Span of the plots">
          {spans.map(([name]) => (
            <button key={name} type="button" aria-pressed={name === span[0]} onClick={() => setParams({ span: name === '1h' ? null : name }, true)}>{name}</button>
          ))}
        </div>
      </div>
      <ErrorNote error={stats.data ? undefined : stats.error} retry={stats.reload} what="Reading the figures" />
      <div class="plots">
        <Plot title="Admissions" times={times} lines={lines.admitted} marks={marks} />
        <Plot title="Outcomes" times={times} lines={lines.ended} marks={marks} />
        <Plot title="Queue depth" times={times} lines={lines.depth} marks={marks} />
        <Plot title="Age of the oldest" times={times} lines={lines.oldest} unit="seconds" marks={marks} />
        <Plot title="Wait time" times={times} lines={lines.wait} unit="ms" marks={marks} />
        <Plot title="Run time" times={times} lines={lines.run} unit="ms" marks={marks} />
      </div>
    </section>
  );
}

function SeenPlots({ queue }: { queue: string | undefined }): JSX.Element {
  const { list } = useStore(samples);
  const data = useMemo(() => {
    const times = list.map((each) => each.at);
    const of = (read: (sample: QueueSample) => number | null, join: (one: number, other: number) => number): (number | null)[] =>
      list.map((each) => {
        const found = queue === undefined ? Object.values(each.queues) : each.queues[queue] ? [each.queues[queue]] : [];
        return found.reduce<number | null>((total, sample) => {
          const value = read(sample);
          return value === null ? total : total === null ? value : join(total, value);
        }, null);
      });
    const add = (one: number, other: number): number => one + other;
    return {
      times,
      depth: [
        { label: 'waiting', tone: 'accent' as const, values: of((s) => s.depth, add), fill: true },
        { label: 'running', tone: 'calm' as const, values: of((s) => s.running, add) },
      ],
      rates: [
        { label: 'completed', tone: 'good' as const, values: of((s) => s.completed, add), fill: true },
        { label: 'failed', tone: 'bad' as const, values: of((s) => s.failed, add) },
      ],
      oldest: [{ label: 'oldest', tone: 'warn' as const, values: of((s) => s.oldest ?? 0, Math.max), fill: true }],
    };
  }, [list, queue]);
  const to = data.times[data.times.length - 1] ?? Date.now() / 1000;
  const from = Math.min(data.times[0] ?? to, to - 300);
  return (
    <section aria-label="Plots">
      <div class="section-head">
        <h2>Since this page was opened</h2>
        <p class="dim">This server keeps no history for plots; a monitoring system gets it from <a href={href('metrics')} target="_blank" rel="noreferrer">/metrics</a>.</p>
      </div>
      <div class="plots">
        <Plot title="Depth" times={data.times} lines={data.depth} from={from} to={to} />
        <Plot title="Outcomes in the minute before" times={data.times} lines={data.rates} from={from} to={to} />
        <Plot title="Age of the oldest that is ready" times={data.times} lines={data.oldest} unit="seconds" from={from} to={to} />
      </div>
    </section>
  );
}
