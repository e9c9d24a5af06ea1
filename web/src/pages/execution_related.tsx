// Executions that belong to this one: what it started, what started it, its other runs.
import type { JSX } from 'preact';
import { get } from '../api/http';
import type { Execution, ExecutionPage } from '../api/types';
import { executionColumns } from '../components/execution_columns';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { Fields } from '../components/page_head';
import { Table } from '../components/table';
import { useResource } from '../lib/use_resource';
import { href } from '../state/router';

const shown = 50;

function List({ title, query, all, empty }: { title: string; query: Record<string, string>; all: string; empty: string }): JSX.Element {
  const page = useResource(`related ${JSON.stringify(query)}`, (signal) => get<ExecutionPage>('v1/executions', { ...query, limit: shown }, { signal }));
  const rows = page.data?.executions ?? [];
  return (
    <section>
      <div class="section-head"><h2>{title}</h2>{page.data?.next && <a href={all}>all of them</a>}</div>
      <ErrorNote error={page.error} retry={page.reload} />
      {!page.data && !page.error ? <Loading what={title.toLowerCase()} /> : rows.length === 0 ? <p class="dim">{empty}</p> : (
        <Table label={title} rows={rows} id={(row) => row.id} columns={executionColumns(['status', 'task', 'key', 'run', 'attempt', 'created', 'took'])} open={(row) => href(`executions/${row.id}`)} keys={false} />
      )}
    </section>
  );
}

function link(id: string | null | undefined): JSX.Element | null {
  return id ? <a class="mono" href={href(`executions/${id}`)}>{id}</a> : null;
}

export function RelatedTab({ e }: { e: Execution }): JSX.Element {
  const links: [string, JSX.Element | null][] = [
    ['Started by', link(e.parent)],
    ['Retried as', link(e.retried_as)],
    ['Retry of', link(e.retry_of)],
    ['Continued as', link(e.continued_as)],
  ];
  const known = links.filter((each): each is [string, JSX.Element] => each[1] !== null);
  return (
    <>
      {known.length > 0 && <Fields items={known} />}
      {e.kind === 'workflow' && <List title="Started by it" query={{ parent: e.id }} all={href('executions', { parent: e.id })} empty="It has started nothing yet." />}
      {e.identity !== null
        ? <List title="Runs under the same identity" query={{ identity: e.identity }} all={href('executions', { identity: e.identity })} empty="No other runs are kept." />
        : <Empty title="It has no identity"><p>Each request like it is another one, so it has no other runs.</p></Empty>}
    </>
  );
}
