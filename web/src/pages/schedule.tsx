// One activity: its calendar, its runs, and what an outage would have done to it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, post, remove } from '../api/http';
import type { Activity, ActivityRun, Preview } from '../api/types';
import { ActivityForm } from '../components/activity_form';
import { BackfillDialog, PauseDialog, TriggerDialog } from '../components/activity_dialogs';
import { Ask } from '../components/dialog';
import { JsonView } from '../components/json_view';
import { ErrorNote, Loading, toast } from '../components/notes';
import { OutagePreview } from '../components/outage_preview';
import { Fields, PageHead } from '../components/page_head';
import { StatusBadge } from '../components/status';
import { Table } from '../components/table';
import { Text } from '../components/text';
import { Ago, At, Took } from '../components/time';
import { OutcomeStrip, TimeAxis, Timeline, type Span } from '../components/timeline';
import { count, exact } from '../lib/format';
import { useStore } from '../lib/store';
import { useNow } from '../lib/ticker';
import { useResource } from '../lib/use_resource';
import { useMay } from '../state/me';
import { go, href, place, query, setParams } from '../state/router';
import { settings } from '../state/settings';
import { fireMarks, goesOn, rangeOf, ranges, runMarks } from './schedules';

const firesRead = 500;

type Asking = 'pause' | 'trigger' | 'backfill' | 'edit' | 'delete';

export function SchedulePage({ id }: { id: string }): JSX.Element {
  useStore(place);
  const params = query();
  const path = `v1/activities/${encodeURIComponent(id)}`;
  const now = useNow();
  const { zone } = useStore(settings);
  const may = useMay('admin');
  const [asking, setAsking] = useState<Asking | null>(null);
  const range = params.get('range') ?? '1d';
  const activity = useResource(`activity ${id} ${params.get('ns') ?? ''}`, (signal) => get<Activity>(path, {}, { signal, lossless: true }), { everyMs: 10_000 });
  const runs = useResource(`runs ${id} ${params.get('cursor') ?? ''}`, (signal) => get<{ runs: ActivityRun[]; next: string | null }>(`${path}/runs`, { limit: 100, cursor: params.get('cursor') }, { signal }), { everyMs: 5000 });
  const data = activity.data;
  const cron = data?.kind === 'cron';
  const fires = useResource(`preview ${id} ${data?.version ?? 0}`, (signal) => get<Preview>(`${path}/preview`, { count: firesRead }, { signal }), { enabled: cron === true, everyMs: 60_000 });
  if (!data) return activity.error ? <ErrorNote error={activity.error} retry={activity.reload} what="Reading the activity" /> : <Loading what="the activity" />;

  const { from, to } = rangeOf(range, now);
  const list = runs.data?.runs ?? [];
  const upcoming = fires.data?.fires ?? [];
  const marks = [...runMarks(list), ...(data.paused ? [] : fireMarks(upcoming).filter((mark) => mark.at > now))];
  const chosen = params.get('span')?.split('~').map((each) => Date.parse(each));
  const span: Span | null = chosen && chosen.length === 2 && chosen.every((each) => !Number.isNaN(each)) ? { from: chosen[0]!, to: chosen[1]! } : null;
  const setSpan = (next: Span | null): void => setParams({ span: next ? [next.from, next.to].map((each) => new Date(Math.round(each / 1000) * 1000).toISOString()).join('~') : null });
  const close = (): void => setAsking(null);
  return (
    <>
      <p class="crumbs"><a href={href('schedules')}>Schedules and events</a> /</p>
      <PageHead
        title={<><Text value={data.name} /> {data.paused && <span class="tag warn">paused</span>}</>}
        sub={<><Text value={data.description} />{!data.paused && data.next_due && <> · next <Ago at={data.next_due} /></>}{data.paused && data.note && <> · <Text value={data.note} /></>}</>}
      >
        {may && (data.paused
          ? <button type="button" class="primary" onClick={() => void post<Activity>(`${path}/resume`).then(() => { toast(`${data.name} goes on`); activity.reload(); }, (error: Error) => toast(error.message, true))}>Resume</button>
          : <button type="button" onClick={() => setAsking('pause')}>Pause…</button>)}
        {may && <button type="button" onClick={() => setAsking('trigger')}>Run now…</button>}
        {may && cron && <button type="button" onClick={() => setAsking('backfill')}>Backfill…</button>}
        {may && <button type="button" onClick={() => setAsking('edit')}>Edit…</button>}
        {may && <button type="button" class="danger-ghost" onClick={() => setAsking('delete')}>Delete…</button>}
      </PageHead>
      {data.trouble && <p class="note note-error" role="alert"><Text value={data.trouble} /></p>}
      <section class="calendar">
        <div class="section-head">
          <h2>Line of time</h2>
          <div class="segments" role="group" aria-label="Span of the line of time">
            {Object.keys(ranges).map((name) => <button key={name} type="button" aria-pressed={range === name} onClick={() => setParams({ range: name === '1d' ? null : name }, true)}>{name}</button>)}
          </div>
        </div>
        <TimeAxis from={from} to={to} now={now} />
        <Timeline from={from} to={to} now={now} marks={marks} goesOnFrom={data.paused ? undefined : goesOn(upcoming, firesRead)} label={data.name} {...(cron ? { span, onSpan: setSpan } : {})} />
        {list.length > 0 && <OutcomeStrip outcomes={[...list].reverse().slice(-80).map((run) => ({ id: run.id, status: run.status, href: href(`executions/${run.id}`), title: exact(Date.parse(run.created_at), zone) }))} />}
        {cron && <p class="dim small-text">Drag over the line to choose a span: see what an outage there would do, or run its ticks again.</p>}
      </section>
      {cron && <OutagePreview id={id} span={span} onSpan={setSpan} onBackfill={() => setAsking('backfill')} mayBackfill={may} />}
      <section class="split">
        <div>
          <div class="section-head"><h2>Runs</h2><a href={href('executions', { activity: id })}>as a list</a></div>
          <ErrorNote error={runs.data ? undefined : runs.error} retry={runs.reload} />
          {runs.data && list.length === 0 ? <p class="dim">It has started nothing yet.</p> : (
            <Table
              label="Runs" rows={list} id={(run) => run.id} open={(run) => href(`executions/${run.id}`)}
              columns={[
                { name: 'status', label: 'Status', cell: (run) => <StatusBadge status={run.status} /> },
                { name: 'run', label: 'Run', kind: 'wide', cell: (run) => <a href={href(`executions/${run.id}`)}><Text value={run.run_id.slice(run.run_id.indexOf(':') + 1)} mono /></a> },
                { name: 'started', label: 'Started', kind: 'number', cell: (run) => <Ago at={run.started_at} /> },
                { name: 'took', label: 'Ran', kind: 'number', cell: (run) => <Took from={run.started_at} to={run.finished_at ?? run.started_at} /> },
                { name: 'error', label: 'Error', kind: 'wide', cell: (run) => <Text value={run.error ? run.error.message : null} /> },
              ]}
            />
          )}
          <footer class="pager">
            {params.get('cursor') && <button type="button" onClick={() => setParams({ cursor: null })}>Newest</button>}
            {runs.data?.next && <button type="button" onClick={() => setParams({ cursor: runs.data?.next })}>Older</button>}
          </footer>
        </div>
        <div>
          {cron && (
            <>
              <h2>Next fires</h2>
              {data.paused && <p class="dim">None while it is paused; these would be next.</p>}
              <ErrorNote error={fires.data ? undefined : fires.error} />
              <ul class="fires">
                {upcoming.slice(0, 8).map((fire) => (
                  <li key={fire.run_id}><At at={fire.due} /> <Ago at={fire.due} />{fire.note && <span class="tag warn"><Text value={fire.note} /></span>}</li>
                ))}
              </ul>
              {fires.data && fires.data.time_zone !== 'UTC' && <p class="dim small-text">Its zone is {fires.data.time_zone}: {upcoming[0] ? <Text value={upcoming[0].local} mono /> : 'no fire is due'} by its clock.</p>}
            </>
          )}
          <h2>Figures</h2>
          <Fields items={[
            ['Started', count(data.counts.started)],
            ['Missed', count(data.counts.missed)],
            ['Duplicates', count(data.counts.duplicates)],
            ['Overlapped', count(data.counts.overlapped)],
            ['Refused', count(data.counts.refused)],
            ['Version', count(data.version)],
          ]} />
          <JsonView title="Definition" value={data.definition} />
        </div>
      </section>
      {asking === 'pause' && <PauseDialog activity={data} onClose={close} onDone={activity.reload} />}
      {asking === 'trigger' && <TriggerDialog activity={data} onClose={close} onDone={runs.reload} />}
      {asking === 'backfill' && <BackfillDialog activity={data} span={span} onClose={close} onDone={runs.reload} />}
      {asking === 'edit' && <ActivityForm activity={data} onClose={() => { close(); activity.reload(); }} />}
      {asking === 'delete' && (
        <Ask title={`Delete ${data.name}?`} yes="Delete 1" danger onClose={close} act={async () => { await remove(path); toast('Deleted: its runs stay'); go(href('schedules')); }}>
          <p>It starts nothing more. Its runs stay. To stop it for a while, pause it.</p>
        </Ask>
      )}
    </>
  );
}
