// Dead letters, grouped by task and error, so that a thousand failures of one kind are one line and one decision.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { get, post } from '../api/http';
import type { DeadGroup, ExecutionPage } from '../api/types';
import { BulkBar, JobProgress } from '../components/bulk_acts';
import { executionColumns } from '../components/execution_columns';
import { Ask } from '../components/dialog';
import { Empty, ErrorNote, Loading, toast } from '../components/notes';
import { PageHead, Tabs } from '../components/page_head';
import { Sparkline } from '../components/sparkline';
import { Table } from '../components/table';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { groupDeadLetters, type LocalGroup } from '../lib/error_groups';
import { count, counted } from '../lib/format';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { href, place, query, setParams } from '../state/router';

const readForGroups = 1000;

export function DeadLettersPage(): JSX.Element {
  useStore(place);
  const params = query();
  const queue = params.get('queue');
  const task = params.get('task');
  const view = params.get('view') ?? 'groups';
  const common = { queue, task, text: params.get('text'), view: null as string | null };
  return (
    <>
      <PageHead title="Dead letters" sub="What failed for good and waits for a decision" />
      <div class="filter-bar">
        <form
          role="search" class="search"
          onSubmit={(event) => {
            event.preventDefault();
            setParams({ text: String(new FormData(event.currentTarget).get('text') ?? ''), cursor: null });
          }}
        >
          <input type="search" name="text" aria-label="Search dead letters" placeholder="Text of error, key, payload" defaultValue={params.get('text') ?? ''} key={params.get('text') ?? ''} maxLength={200} />
          <kbd aria-hidden="true">/</kbd>
        </form>
        {[['queue', queue], ['task', task]].filter((each): each is [string, string] => each[1] !== null).map(([name, value]) => (
          <span key={name} class="chip"><span class="dim">{name}</span> <Text value={value} /><button type="button" class="ghost" aria-label={`Remove the filter ${name}`} onClick={() => setParams({ [name]: null, cursor: null })}>×</button></span>
        ))}
      </div>
      <Tabs label="Views of the dead letters" now={view} tabs={[
        { name: 'groups', label: 'By error', href: href('dead-letters', common) },
        { name: 'list', label: 'One by one', href: href('dead-letters', { ...common, view: 'list' }) },
      ]} />
      {view === 'list' ? <DeadList /> : <Groups />}
    </>
  );
}

function Groups(): JSX.Element {
  const params = query();
  const has = useHas('/v1/dead-letters/groups');
  const filter = { queue: params.get('queue'), task: params.get('task'), text: params.get('text') };
  // The server's groups have no text filter: with one, the newest are grouped here.
  const own = has === true && !filter.text && !filter.task;
  const told = useResource(`dead groups ${JSON.stringify(filter)} ${params.get('ns') ?? ''}`, (signal) => get<{ groups: DeadGroup[] }>('v1/dead-letters/groups', { queue: filter.queue }, { signal }), { enabled: own, everyMs: 10_000 });
  const page = useResource(`dead ${JSON.stringify(filter)} ${params.get('ns') ?? ''}`, (signal) => get<ExecutionPage>('v1/dead-letters', { ...filter, limit: readForGroups }, { signal }), { enabled: has !== undefined && !own, everyMs: 15_000 });
  const groups: (DeadGroup & { ids?: string[] })[] | undefined = useMemo(() => (own ? told.data?.groups : page.data && groupDeadLetters(page.data.executions, Date.now())), [own, told.data, page.data]);
  const error = own ? told.error : page.error;
  const reload = own ? told.reload : page.reload;
  if (!groups) return error ? <ErrorNote error={error} retry={reload} what="Reading the dead letters" /> : <Loading what="dead letters" />;
  if (groups.length === 0) {
    return <Empty title="No dead letters"><p>Nothing has failed for good{filter.queue || filter.task || filter.text ? ' that matches' : ''}. An execution comes here when its attempts are used up, or its handler says that a retry is useless.</p></Empty>;
  }
  return (
    <>
      {!own && page.data?.next && <p class="note">Grouped among the newest {count(readForGroups)}; there are more.</p>}
      <ul class="groups">
        {groups.map((group) => <Group key={group.task + group.queue + group.error_type + group.message_pattern} group={group} onChange={reload} />)}
      </ul>
    </>
  );
}

function Group({ group, onChange }: { group: DeadGroup & { ids?: string[] }; onChange: () => void }): JSX.Element {
  const may = useMay('admin');
  const hasJobs = useHas('/v1/jobs', 'post') === true;
  const [asking, setAsking] = useState<'retry' | 'discard' | 'note' | null>(null);
  const [note, setNote] = useState('');
  const [job, setJob] = useState<string | null>(null);
  const local = group as LocalGroup;
  // A group of the server is acted on as a job by its own name; one made here by its ids.
  const asJob = local.ids === undefined && hasJobs && group.group !== undefined;
  const actable = local.ids !== undefined || asJob;
  return (
    <li class="group">
      <div class="group-count"><span class="num">{count(group.count)}</span><Sparkline bars values={group.per_hour} label="Per hour in the last day" /></div>
      <div class="group-text">
        <p class="group-title"><a href={href('executions', { dead: 'true', task: group.task, queue: group.queue })}><Text value={group.task} /></a> <span class="dim">in</span> <Text value={group.queue} /> {group.error_type && <span class="tag bad"><Text value={group.error_type} /></span>}</p>
        <p class="mono group-message"><Text value={group.message_pattern || 'no message'} /></p>
        <p class="dim">newest <a href={href(`executions/${group.newest_id}`)}><Ago at={group.newest_at} /></a>{group.count > 1 && <> · oldest <Ago at={group.oldest_at} /></>}</p>
      </div>
      {may && (
        <div class="actions">
          {actable ? (
            <>
              <button type="button" onClick={() => setAsking('retry')}>Retry {count(group.count)}…</button>
              {local.ids !== undefined && <button type="button" onClick={() => setAsking('note')}>Note…</button>}
              <button type="button" class="danger-ghost" onClick={() => setAsking('discard')}>Discard {count(group.count)}…</button>
            </>
          ) : <a class="button" href={href('dead-letters', { view: 'list', task: group.task, queue: group.queue })}>Choose…</a>}
        </div>
      )}
      {job && <JobProgress id={job} onEnd={onChange} onClose={() => setJob(null)} />}
      {asking && (
        <Ask
          title={asking === 'note' ? `Note on ${counted(group.count, 'dead letter')}` : `${asking === 'retry' ? 'Retry' : 'Discard'} ${counted(group.count, 'dead letter')}?`}
          yes={asking === 'note' ? 'Keep it' : `${asking === 'retry' ? 'Retry' : 'Discard'} ${count(group.count)}`} danger={asking === 'discard'} onClose={() => setAsking(null)}
          act={async () => {
            if (asking === 'note') {
              await post('v1/dead-letters/annotate', { ids: local.ids, note });
            } else if (asJob) {
              setJob((await post<{ id: string }>('v1/jobs', { act: asking, filter: { dead: true, group: group.group } })).id);
            } else if (asking === 'retry') {
              const answer = await post<{ retried: number; refused: number }>('v1/dead-letters/retry', { ids: local.ids });
              toast(`${count(answer.retried)} retried, ${count(answer.refused)} refused`);
            } else {
              const answer = await post<{ discarded: number }>('v1/dead-letters/discard', { ids: local.ids });
              toast(`${count(answer.discarded)} discarded`);
            }
            onChange();
          }}
        >
          <p><Text value={group.task} />: <Text value={group.message_pattern || group.error_type} /></p>
          {asking === 'note' && <label class="field"><span>For whoever looks next</span><textarea data-first rows={3} required maxLength={2000} value={note} onInput={(event) => setNote(event.currentTarget.value)} /></label>}
          {asking === 'retry' && <p class="dim">Each is a new run under the same identity and effect key.</p>}
        </Ask>
      )}
    </li>
  );
}

function DeadList(): JSX.Element {
  const params = query();
  const filter = { queue: params.get('queue'), task: params.get('task'), text: params.get('text'), cursor: params.get('cursor') };
  const page = useResource(`dead list ${JSON.stringify(filter)} ${params.get('ns') ?? ''}`, (signal) => get<ExecutionPage>('v1/dead-letters', { ...filter, limit: 50 }, { signal }));
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const rows = page.data?.executions ?? [];
  const whole = rows.length > 0 && rows.every((row) => chosen.has(row.id));
  if (!page.data) return page.error ? <ErrorNote error={page.error} retry={page.reload} what="Reading the dead letters" /> : <Loading what="dead letters" />;
  if (rows.length === 0) return <Empty title="No dead letters here"><p>Nothing matches, or all were retried or discarded.</p></Empty>;
  return (
    <>
      <BulkBar target={{ ids: [...chosen], filter: null, all: false, deadLetters: true }} acts={['retry', 'discard']} matched={undefined} onDone={() => { setChosen(new Set()); page.reload(); }} />
      <Table
        label="Dead letters" rows={rows} id={(row) => row.id} open={(row) => href(`executions/${row.id}`)}
        columns={[
          ...executionColumns(['task', 'key', 'queue', 'error', 'attempt', 'finished']),
          { name: 'note', label: 'Note', kind: 'wide', cell: (row) => <Text value={row.note ?? null} /> },
        ]}
        selection={{
          has: (id) => chosen.has(id), all: whole,
          toggle: (id) => setChosen((before) => { const next = new Set(before); if (!next.delete(id)) next.add(id); return next; }),
          toggleAll: () => setChosen(whole ? new Set() : new Set(rows.map((row) => row.id))),
        }}
      />
      <footer class="pager">
        {filter.cursor && <button type="button" onClick={() => setParams({ cursor: null })}>Newest</button>}
        {page.data.next && <button type="button" onClick={() => setParams({ cursor: page.data?.next })}>Older</button>}
      </footer>
    </>
  );
}
