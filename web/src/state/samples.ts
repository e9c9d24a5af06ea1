// Figures of the queues since this page was opened, for servers that keep no history (GET /v1/stats): one sample for each
// overview that was read, at most an hour of them.
import type { Overview, Queue } from '../api/types';
import { parseDuration } from '../lib/format';
import { Store } from '../lib/store';

export interface QueueSample {
  depth: number;
  running: number;
  completed: number;
  failed: number;
  oldest: number | null;
}

export interface Taken {
  at: number; // seconds
  queues: Record<string, QueueSample>;
}

const most = 1200;
const apart = 2.5;

export const samples = new Store<{ namespace: string; list: Taken[] }>({ namespace: '', list: [] });

export function depthOf(queue: Queue): number {
  return queue.ready + queue.delayed + queue.parked;
}

export function takeSample(overview: Overview): void {
  const at = Date.parse(overview.at) / 1000;
  const before = samples.get().namespace === overview.namespace ? samples.get().list : [];
  const last = before[before.length - 1];
  if (last && at - last.at < apart) return;
  const queues: Record<string, QueueSample> = {};
  for (const queue of overview.queues.slice(0, 500)) {
    queues[queue.queue] = {
      depth: depthOf(queue),
      running: queue.running,
      completed: queue.completed_last_minute,
      failed: queue.failed_last_minute,
      oldest: parseDuration(queue.oldest_ready),
    };
  }
  samples.set({ namespace: overview.namespace, list: [...before.slice(-(most - 1)), { at, queues }] });
}
