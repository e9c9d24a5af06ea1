// Dead letters that say the same: messages are compared with digits, ids and quoted texts masked.
import type { DeadGroup, Execution } from '../api/types';

export function messagePattern(message: string): string {
  return message
    .slice(0, 500)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '‹id›')
    .replace(/"[^"]*"|'[^']*'/g, '‹text›')
    .replace(/\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b/gi, '‹id›')
    .replace(/[0-9]+(?:[.,][0-9]+)*/g, '‹n›');
}

export interface LocalGroup extends DeadGroup {
  ids: string[];
}

const hours = 24;

export function groupDeadLetters(list: Execution[], now: number): LocalGroup[] {
  const groups = new Map<string, LocalGroup>();
  for (const e of list) {
    const type = e.error?.type ?? '';
    const pattern = messagePattern(e.error?.message ?? '');
    const key = JSON.stringify([e.task, e.queue, type, pattern]);
    const at = e.finished_at ?? e.created_at;
    let group = groups.get(key);
    if (!group) {
      group = {
        task: e.task, queue: e.queue, error_type: type, message_pattern: pattern, count: 0, newest_id: e.id, newest_at: at, oldest_at: at,
        per_hour: new Array<number>(hours).fill(0), ids: [],
      };
      groups.set(key, group);
    }
    group.count++;
    group.ids.push(e.id);
    if (at > group.newest_at) {
      group.newest_at = at;
      group.newest_id = e.id;
    }
    if (at < group.oldest_at) group.oldest_at = at;
    const hour = hours - 1 - Math.floor((now - Date.parse(at)) / 3600e3);
    if (hour >= 0 && hour < hours) group.per_hour[hour]!++;
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}
