import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { get, post } from '../api/http';
import type { GuardRecord } from '../api/types';
import { Ask, Dialog } from '../components/dialog';
import { JsonView } from '../components/json_view';
import { Empty, ErrorNote, Loading, OlderServer, toast } from '../components/notes';
import { Fields, PageHead } from '../components/page_head';
import { StatusBadge } from '../components/status';
import { Table, type Column } from '../components/table';
import { LongText, Text } from '../components/text';
import { Ago, At } from '../components/time';
import { duration } from '../lib/format';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { place, query, setParams } from '../state/router';

// A call that has not renewed its record for so long may be dead.
const silentAfter = 15;

export function GuardsPage(): JSX.Element {
  useStore(place);
  const params = query();
  const has = useHas('/v1/guards');
  const may = useMay('admin');
  const [asking, setAsking] = useState<GuardRecord | null>(null);
  const filter = { name: params.get('name'), status: params.get('status'), cursor: params.get('cursor') };
  const page = useResource(`guards ${JSON.stringify(filter)} ${params.get('ns') ?? ''}`, (signal) => get<{ guards: GuardRecord[]; next: string | null }>('v1/guards', { ...filter, limit: 100 }, { signal, lossless: true }), { enabled: has === true, everyMs: 5000 });
  const rows = page.data?.guards ?? [];
  const idOf = (record: GuardRecord): string => `${record.name}\n${record.key}`;
  const shown = rows.find((record) => idOf(record) === params.get('record'));
  const columns: Column<GuardRecord>[] = [
    { name: 'status', label: 'Status', cell: (record) => <StatusBadge status={record.status} /> },
    { name: 'name', label: 'Function', kind: 'wide', cell: (record) => <Text value={record.name} /> },
    { name: 'key', label: 'Key', kind: 'wide', cell: (record) => <button type="button" class="link" onClick={() => setParams({ record: idOf(record) })}><Text value={record.key} mono /></button> },
    { name: 'fence', label: 'Fence', kind: 'number', cell: (record) => record.fence },
    { name: 'started', label: 'Started', kind: 'number', cell: (record) => <Ago at={record.started_at} /> },
    { name: 'beat', label: 'Heartbeat', kind: 'number', cell: (record) => record.status !== 'in_progress' || record.heartbeat_age_s === null || record.heartbeat_age_s === undefined ? <span class="none">–</span> : <span class={record.heartbeat_age_s > silentAfter ? 'bad num' : 'num'}>{duration(record.heartbeat_age_s)} ago</span> },
    { name: 'expires', label: 'Kept', kind: 'number', cell: (record) => record.expires_at ? <Ago at={record.expires_at} /> : <span class="dim">until forgotten</span> },
    ...(may ? [{ name: 'act', label: '', cell: (record: GuardRecord) => <button type="button" class="small danger-ghost" onClick={() => setAsking(record)}>Forget…</button> }] : []),
  ];
  return (
    <>
      <PageHead title="Guards" sub="Records of guarded functions in this store: one effect for one key" />
      {has === false && <OlderServer what="records of guarded functions" route="GET /v1/guards" />}
      {has && (
        <div class="filter-bar">
          <form role="search" class="search" onSubmit={(event) => { event.preventDefault(); setParams({ name: String(new FormData(event.currentTarget).get('name') ?? ''), cursor: null }); }}>
            <input type="search" name="name" aria-label="Name of the guarded function" placeholder="Name of the function" defaultValue={filter.name ?? ''} maxLength={200} />
          </form>
          <div class="segments" role="group" aria-label="Status">
            {[['', 'all'], ['in_progress', 'in progress'], ['completed', 'completed'], ['failed', 'failed']].map(([value, label]) => (
              <button key={value} type="button" aria-pressed={(filter.status ?? '') === value} onClick={() => setParams({ status: value, cursor: null })}>{label}</button>
            ))}
          </div>
        </div>
      )}
      <ErrorNote error={page.data ? undefined : page.error} retry={page.reload} what="Reading the guards" />
      {has && (!page.data ? !page.error && <Loading what="guards" /> : rows.length === 0
        ? <Empty title="No records"><p><code>hapax::idempotent("invoice", options, fn)</code> makes one for each key. Records in files or Redis are listed by <code>hapax guard list --store URL</code>.</p></Empty>
        : <Table label="Guards" rows={rows} id={idOf} columns={columns} />)}
      {page.data?.next && <footer class="pager"><button type="button" onClick={() => setParams({ cursor: page.data?.next })}>More</button></footer>}
      {shown && (
        <Dialog title={shown.name} wide onClose={() => setParams({ record: null })}>
          <Fields items={[
            ['Status', <StatusBadge status={shown.status} />],
            ['Key', <Text value={shown.key} mono />],
            ['Started', <At at={shown.started_at} />],
            ['Ended', <At at={shown.completed_at} />],
          ]} />
          {shown.error && <div class="error-box"><strong><Text value={shown.error.type} /></strong><LongText value={shown.error.message} /></div>}
          <JsonView title="Result" value={shown.result} />
          <div class="dialog-foot"><button type="button" class="primary" data-first onClick={() => setParams({ record: null })}>Close</button></div>
        </Dialog>
      )}
      {asking && (
        <Ask
          title="Forget this record?" yes="Forget 1" danger onClose={() => setAsking(null)}
          act={async () => { await post('v1/guards/forget', { name: asking.name, key: asking.key }); toast('Forgotten: the next call runs'); page.reload(); }}
        >
          <p><Text value={asking.name} />, key <Text value={asking.key} mono />. The next call with this key <strong>runs the function again</strong>. {asking.status === 'in_progress' && 'It is in progress: forget it only when it is known whether it took effect.'}</p>
        </Ask>
      )}
    </>
  );
}
