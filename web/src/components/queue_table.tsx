import type { JSX } from 'preact';
import type { Queue } from '../api/types';
import { count, duration, parseDuration } from '../lib/format';
import { useStore } from '../lib/store';
import { href } from '../state/router';
import { samples } from '../state/samples';
import { Sparkline } from './sparkline';
import { Table, type Column } from './table';
import { Text } from './text';

export function queueState(queue: Queue): JSX.Element {
  if (queue.paused) return <span class="tag warn">paused</span>;
  if (queue.draining) return <span class="tag warn">draining</span>;
  return <span class="tag">open</span>;
}

export function limitsText(queue: Queue): string {
  const parts: string[] = [];
  if (queue.rate_limit) parts.push(queue.rate_limit);
  if (queue.concurrency !== null) parts.push(`${queue.concurrency} at once`);
  if (queue.worker_concurrency !== null) parts.push(`${queue.worker_concurrency} per worker`);
  if (queue.key_concurrency !== null) parts.push(`${queue.key_concurrency} per key`);
  if (queue.key_rate_limit) parts.push(`${queue.key_rate_limit} per key`);
  return parts.join(', ');
}

export function QueueTable({ queues, small }: { queues: Queue[]; small?: boolean }): JSX.Element {
  const { list } = useStore(samples);
  const recent = list.slice(-40);
  const address = (queue: Queue): string => href(`queues/${encodeURIComponent(queue.queue)}`);
  const number = (name: keyof Queue, label: string): Column<Queue> => ({
    name, label, kind: 'number',
    cell: (queue) => <span class={queue[name] === 0 ? 'zero' : ''}>{count(queue[name] as number)}</span>,
  });
  const columns: Column<Queue>[] = [
    { name: 'queue', label: 'Queue', kind: 'wide', cell: (queue) => <><a href={address(queue)}><Text value={queue.queue} /></a>{small && (queue.paused || queue.draining) && queueState(queue)}</> },
    ...(small ? [] : [{ name: 'state', label: 'State', cell: queueState }]),
    number('ready', 'Ready'),
    number('running', 'Running'),
    ...(small ? [] : [number('delayed', 'Delayed'), number('parked', 'Parked')]),
    { name: 'dead', label: 'Dead', kind: 'number', cell: (queue) => queue.dead > 0 ? <a class="bad" href={href('dead-letters', { queue: queue.queue })}>{count(queue.dead)}</a> : <span class="zero">0</span> },
    { name: 'oldest', label: 'Oldest', kind: 'number', cell: (queue) => { const age = parseDuration(queue.oldest_ready); return age === null ? <span class="zero">–</span> : <span class="num">{duration(age)}</span>; } },
    number('completed_last_minute', 'Done/min'),
    ...(small ? [] : [number('failed_last_minute', 'Failed/min')]),
    ...(small ? [] : [{ name: 'limits', label: 'Limits', cell: (queue: Queue) => <Text value={limitsText(queue) || null} /> }]),
    { name: 'trend', label: 'Depth', cell: (queue) => <Sparkline values={recent.map((each) => each.queues[queue.queue]?.depth ?? null)} label={`Depth of ${queue.queue}`} /> },
  ];
  return <Table label="Queues" columns={columns} rows={queues} id={(queue) => queue.queue} open={address} keys={!small} />;
}
