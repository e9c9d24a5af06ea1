// What needs somebody now, each a link: from GET /v1/attention, else worked out of the overview and the activities.
import type { JSX } from 'preact';
import { get } from '../api/http';
import type { Activity, AttentionItem, Overview } from '../api/types';
import { counted, duration, parseDuration } from '../lib/format';
import { useResource } from '../lib/use_resource';
import { useHas } from '../state/me';
import { href, query } from '../state/router';
import { Icon } from './icons';
import { Text } from './text';
import { Ago } from './time';

interface Item {
  text: string;
  to: string;
  bad: boolean;
  since?: string | undefined;
}

const oldAfter = 300; // seconds that something ready waits
const overdueAfter = 90;

function ofServer(item: AttentionItem): Item {
  const to: Record<AttentionItem['kind'], string> = {
    stuck_workflow: item.example_id ? href(`executions/${item.example_id}`) : href('executions', { status: 'pending' }),
    dead_letter: href('dead-letters', { queue: item.queue }),
    overdue_activity: item.activity ?? item.example_id ? href(`schedules/${encodeURIComponent(item.activity ?? item.example_id ?? '')}`) : href('schedules'),
    lost_session: href('workers'),
    paused_queue: item.queue ? href(`queues/${encodeURIComponent(item.queue)}`) : href('queues'),
  };
  return { text: item.text, to: to[item.kind] ?? href(''), bad: item.kind !== 'paused_queue', since: item.since };
}

function worked(overview: Overview, activities: Activity[]): Item[] {
  const items: Item[] = [];
  const now = Date.parse(overview.at);
  for (const queue of overview.queues) {
    const to = href(`queues/${encodeURIComponent(queue.queue)}`);
    if (queue.dead > 0) items.push({ text: `${counted(queue.dead, 'dead letter')} in ${queue.queue}`, to: href('dead-letters', { queue: queue.queue }), bad: true });
    if (queue.paused) items.push({ text: `${queue.queue} is paused${queue.ready > 0 ? `, ${queue.ready} wait` : ''}`, to, bad: false });
    if (queue.draining) items.push({ text: `${queue.queue} drains: nothing new is taken`, to, bad: false });
    const oldest = parseDuration(queue.oldest_ready) ?? 0;
    const served = overview.sessions.some((session) => session.queues.includes(queue.queue));
    if (queue.ready > 0 && !queue.paused && !served) items.push({ text: `no worker for ${queue.queue}, ${queue.ready} wait`, to, bad: true });
    else if (oldest > oldAfter && !queue.paused) items.push({ text: `the oldest of ${queue.queue} has waited ${duration(oldest)}`, to, bad: true });
  }
  for (const activity of activities) {
    const to = href(`schedules/${encodeURIComponent(activity.id)}`);
    if (activity.trouble) items.push({ text: `${activity.name}: ${activity.trouble}`, to, bad: true });
    else if (!activity.paused && activity.next_due && now - Date.parse(activity.next_due) > overdueAfter * 1000) {
      items.push({ text: `${activity.name} is overdue`, to, bad: true, since: activity.next_due });
    }
  }
  for (const session of overview.sessions) {
    if (session.expires_at && Date.parse(session.expires_at) < now) items.push({ text: `worker ${session.worker} is lost`, to: href('workers'), bad: true, since: session.expires_at });
  }
  return items.sort((one, other) => Number(other.bad) - Number(one.bad));
}

export function Attention({ overview }: { overview: Overview }): JSX.Element | null {
  const has = useHas('/v1/attention');
  const namespace = query().get('ns') ?? '';
  const told = useResource(`attention ${namespace}`, (signal) => get<{ items: AttentionItem[] }>('v1/attention', {}, { signal }), { enabled: has === true, everyMs: 5000 });
  const activities = useResource(`activities ${namespace}`, (signal) => get<{ activities: Activity[] }>('v1/activities', { limit: 200 }, { signal }), { enabled: has === false, everyMs: 15_000 });
  const items = has ? (told.data?.items ?? []).map(ofServer) : worked(overview, activities.data?.activities ?? []);
  if (has === undefined || (has && !told.data)) return null;
  return (
    <section class="attention" aria-label="What needs attention">
      {items.length === 0 ? (
        <p class="all-well"><Icon name="completed" /> Nothing needs attention.</p>
      ) : (
        <ul>
          {items.slice(0, 12).map((item) => (
            <li key={item.to + item.text}>
              <a class={item.bad ? 'bad' : 'mild'} href={item.to}>
                <Icon name={item.bad ? 'warning' : 'pause'} />
                <Text value={item.text} />
                {item.since && <Ago at={item.since} />}
              </a>
            </li>
          ))}
          {items.length > 12 && <li class="dim">and {items.length - 12} more</li>}
        </ul>
      )}
    </section>
  );
}
