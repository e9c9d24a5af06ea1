// Schedules and subscriptions: each with the runs behind it and the fires ahead of it on one line of time.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get } from '../api/http';
import type { Activity, ActivityRun, Fire } from '../api/types';
import { ActivityForm } from '../components/activity_form';
import { EventComposer } from '../components/event_composer';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { PageHead, Tabs } from '../components/page_head';
import { statusLabel } from '../components/status';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { TimeAxis, Timeline, type Mark } from '../components/timeline';
import { count, counted } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { useResource } from '../lib/use_resource';
import { useMay } from '../state/me';
import { href, place, query, setParams } from '../state/router';

export const ranges: Record<string, number> = { '2h': 2, '12h': 12, '1d': 24, '7d': 168, '30d': 720 };
const hour = 3600e3;
const firesRead = 200;

// Half of the line lies behind now, half ahead.
export function rangeOf(name: string, now: number): { from: number; to: number } {
  const length = (ranges[name] ?? 24) * hour;
  const anchor = Math.floor(now / 10_000) * 10_000;
  return { from: anchor - length / 2, to: anchor + length / 2 };
}

export function runMarks(runs: ActivityRun[]): Mark[] {
  return runs.map((run) => {
    // The tick stands behind the last colon-separated instant of the run's id: activity-NAME:2026-03-01T09:00:00+00:00.
    const tick = Date.parse(/:(\d{4}-\d\d-\d\dT.*)$/.exec(run.run_id)?.[1] ?? '');
    return { at: Number.isNaN(tick) ? Date.parse(run.created_at) : tick, kind: run.status, label: statusLabel(run.status), to: href(`executions/${run.id}`) };
  });
}

export function fireMarks(fires: Fire[]): Mark[] {
  return fires.map((fire) => ({ at: Date.parse(fire.due), kind: fire.note ? 'fire noted' : 'fire', label: fire.note ? `will run (${fire.note})` : 'will run' }));
}

// The last fire of a preview that did not reach the end of the line: from there on it goes on.
export function goesOn(fires: Fire[], asked: number): number | undefined {
  const last = fires[fires.length - 1];
  return last && fires.length >= asked ? Date.parse(last.due) : undefined;
}

export function SchedulesPage(): JSX.Element {
  useStore(place);
  const params = query();
  const view = params.get('view') ?? 'activities';
  const may = useMay('admin');
  const [making, setMaking] = useState(false);
  return (
    <>
      <PageHead title="Schedules and events" sub="What starts work by the clock or by an event">
        {may && <button type="button" onClick={() => setMaking(true)}>New activity…</button>}
      </PageHead>
      <Tabs label="Views" now={view} tabs={[
        { name: 'activities', label: 'Activities', href: href('schedules') },
        { name: 'event', label: 'Send an event', href: href('schedules', { view: 'event' }) },
      ]} />
      {view === 'event' ? <EventComposer /> : <Activities />}
      {making && <ActivityForm onClose={() => setMaking(false)} />}
    </>
  );
}

function Activities(): JSX.Element {
  const params = query();
  const search = params.get('name') ?? '';
  const kind = params.get('kind') ?? '';
  const range = params.get('range') ?? '1d';
  const now = useNow();
  const page = useResource(`activities ${params.get('cursor') ?? ''} ${params.get('ns') ?? ''}`, (signal) => get<{ activities: Activity[]; next: string | null }>('v1/activities', { limit: 100, cursor: params.get('cursor') }, { signal }), { everyMs: 10_000 });
  const all = page.data?.activities ?? [];
  const shown = all.filter((activity) => (kind === '' || activity.kind === kind) && (activity.id.includes(search) || activity.name.includes(search)));
  const { from, to } = rangeOf(range, now);
  return (
    <>
      <div class="filter-bar">
        <form role="search" class="search" onSubmit={(event) => event.preventDefault()}>
          <input type="search" aria-label="Search activities" placeholder="Name" value={search} maxLength={200} onInput={(event) => setParams({ name: event.currentTarget.value }, true)} />
          <kbd aria-hidden="true">/</kbd>
        </form>
        <div class="segments" role="group" aria-label="Kind">
          {[['', 'all'], ['cron', 'schedules'], ['event', 'events']].map(([value, label]) => <button key={value} type="button" aria-pressed={kind === value} onClick={() => setParams({ kind: value })}>{label}</button>)}
        </div>
        <div class="segments" role="group" aria-label="Span of the line of time">
          {Object.keys(ranges).map((name) => <button key={name} type="button" aria-pressed={range === name} onClick={() => setParams({ range: name === '1d' ? null : name }, true)}>{name}</button>)}
        </div>
      </div>
      <ErrorNote error={page.data ? undefined : page.error} retry={page.reload} what="Reading the activities" />
      {!page.data ? !page.error && <Loading what="activities" /> : shown.length === 0 ? (
        all.length === 0 ? (
          <Empty title="No schedules and no subscriptions">
            <p>Make one here, in code (<code>app.activity(…)</code>), or on the command line:</p>
            <pre class="mono">hapax activity put daily-report --cron '0 9 * * MON-FRI' --time-zone Europe/Zurich --task generate-report</pre>
          </Empty>
        ) : <Empty title="Nothing matches"><p><a href={href('schedules')}>All activities</a></p></Empty>
      ) : (
        <div class="activities">
          <div class="activity-axis"><span class="dim">{counted(shown.length, 'activity', 'activities')}</span><TimeAxis from={from} to={to} now={now} /></div>
          {shown.map((activity) => <ActivityRow key={activity.id} activity={activity} from={from} to={to} now={now} range={range} />)}
        </div>
      )}
      {page.data?.next && <footer class="pager"><button type="button" onClick={() => setParams({ cursor: page.data?.next })}>More</button></footer>}
    </>
  );
}

function ActivityRow({ activity, from, to, now, range }: { activity: Activity; from: number; to: number; now: number; range: string }): JSX.Element {
  const path = `v1/activities/${encodeURIComponent(activity.id)}`;
  const runs = useResource(`runs ${activity.id}`, (signal) => get<{ runs: ActivityRun[] }>(`${path}/runs`, { limit: 100 }, { signal }), { everyMs: 15_000 });
  const fires = useResource(`fires ${activity.id} ${activity.version} ${range}`, (signal) => get<{ fires: Fire[] }>(`${path}/preview`, { count: firesRead }, { signal }), { enabled: activity.kind === 'cron', everyMs: 60_000 });
  const marks = [...runMarks(runs.data?.runs ?? []), ...(activity.paused ? [] : fireMarks(fires.data?.fires ?? []).filter((mark) => mark.at > now))];
  const overdue = !activity.paused && activity.next_due !== null && now - Date.parse(activity.next_due) > 90_000;
  return (
    <article class={activity.paused ? 'activity paused' : 'activity'}>
      <div class="activity-text">
        <p><a href={href(`schedules/${encodeURIComponent(activity.id)}`, { range: range === '1d' ? null : range })}><Text value={activity.name} /></a>
          {activity.paused && <span class="tag warn">paused</span>}
          {overdue && <span class="tag bad">overdue</span>}
          {activity.trouble && <span class="tag bad">trouble</span>}
        </p>
        <p class="dim small-text"><Text value={activity.description} /></p>
        <p class="dim small-text">
          {activity.kind === 'cron' && !activity.paused && activity.next_due && <>next <Ago at={activity.next_due} /> · </>}
          {count(activity.counts.started)} started{activity.counts.missed > 0 && `, ${count(activity.counts.missed)} missed`}{activity.counts.duplicates > 0 && `, ${count(activity.counts.duplicates)} duplicates`}
        </p>
      </div>
      <Timeline from={from} to={to} now={now} marks={marks} goesOnFrom={activity.paused ? undefined : goesOn(fires.data?.fires ?? [], firesRead)} label={activity.name} />
    </article>
  );
}
