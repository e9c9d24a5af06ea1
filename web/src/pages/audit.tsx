import type { JSX } from 'preact';
import { get } from '../api/http';
import type { AuditEntry } from '../api/types';
import { Empty, ErrorNote, Loading, OlderServer } from '../components/notes';
import { PageHead } from '../components/page_head';
import { Table, type Column } from '../components/table';
import { Text } from '../components/text';
import { Ago } from '../components/time';
import { instant } from '../lib/filters';
import { formatJson } from '../lib/lossless_json';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useHas, useMay } from '../state/me';
import { href, place, query, setParams } from '../state/router';

const fields: [string, string, string][] = [
  ['actor', 'Actor', 'token:ops'],
  ['action', 'Action', 'cancel'],
  ['execution', 'Execution', 'id'],
  ['from', 'Since', '2h, 7d or an instant'],
  ['to', 'Until', 'an instant'],
];

export function AuditPage(): JSX.Element {
  useStore(place);
  const params = query();
  const has = useHas('/v1/audit');
  const may = useMay('admin');
  const filter = {
    ...Object.fromEntries(fields.map(([name]) => [name, params.get(name)])),
    from: params.get('from') ? instant(params.get('from')!) : null,
    cursor: params.get('cursor'),
  };
  const page = useResource(`audit ${JSON.stringify(filter)} ${params.get('ns') ?? ''}`, (signal) => get<{ entries: AuditEntry[]; next: string | null }>('v1/audit', { ...filter, limit: 100 }, { signal }), { enabled: has === true && may });
  const columns: Column<AuditEntry>[] = [
    { name: 'at', label: 'When', kind: 'number', cell: (entry) => <Ago at={entry.at} /> },
    { name: 'actor', label: 'Who', kind: 'wide', cell: (entry) => <button type="button" class="link" onClick={() => setParams({ actor: entry.actor, cursor: null })}><Text value={entry.actor} /></button> },
    { name: 'action', label: 'Did', cell: (entry) => <button type="button" class="link" onClick={() => setParams({ action: entry.action, cursor: null })}><Text value={entry.action} /></button> },
    { name: 'subject', label: 'To', kind: 'wide', cell: (entry) => entry.execution_id ? <a class="mono" href={href(`executions/${entry.execution_id}`)}><Text value={entry.subject} /></a> : <Text value={entry.subject} mono /> },
    { name: 'detail', label: 'Detail', kind: 'wide', cell: (entry) => <Text value={entry.detail === undefined || entry.detail === null ? null : typeof entry.detail === 'string' ? entry.detail : formatJson(entry.detail, 0)} /> },
  ];
  const rows = page.data?.entries ?? [];
  return (
    <>
      <PageHead title="Audit" sub="Who did what, newest first" />
      {has === false && <OlderServer what="the audit" route="GET /v1/audit" />}
      {has && !may && <p class="note">The audit needs a token with the scope <code>admin</code>.</p>}
      {has && may && (
        <form
          class="filter-bar" key={JSON.stringify(filter)} aria-label="Filter of the audit"
          onSubmit={(event) => {
            event.preventDefault();
            const data = new FormData(event.currentTarget);
            setParams({ ...Object.fromEntries(fields.map(([name]) => [name, String(data.get(name) ?? '').trim()])), cursor: null });
          }}
        >
          {fields.map(([name, label, example]) => (
            <label key={name} class="field inline"><span>{label}</span><input name={name} placeholder={example} defaultValue={params.get(name) ?? ''} maxLength={200} /></label>
          ))}
          <button type="submit">Show</button>
          {fields.some(([name]) => params.get(name)) && <a class="link" href={href('audit')}>clear</a>}
        </form>
      )}
      <ErrorNote error={page.error} retry={page.reload} what="Reading the audit" />
      {has && may && (!page.data ? !page.error && <Loading what="the audit" /> : rows.length === 0
        ? <Empty title="No entries"><p>Cancels, retries, discards, changes of settings and tokens leave an entry here.</p></Empty>
        : <Table label="Audit" rows={rows.map((entry, index) => ({ ...entry, index }))} id={(entry) => String((entry as unknown as { index: number }).index)} columns={columns} />)}
      {(page.data?.next || filter.cursor) && (
        <footer class="pager">
          {filter.cursor && <button type="button" onClick={() => setParams({ cursor: null })}>Newest</button>}
          {page.data?.next && <button type="button" onClick={() => setParams({ cursor: page.data?.next })}>Older</button>}
        </footer>
      )}
    </>
  );
}
