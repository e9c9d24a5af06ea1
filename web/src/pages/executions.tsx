// The list of executions: filters in the address, live, with acts on some or on all that match.
import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get } from '../api/http';
import type { Counts, Execution, ExecutionPage } from '../api/types';
import { BulkBar, type BulkAct } from '../components/bulk_acts';
import { ColumnChoice, executionColumns, shownColumns } from '../components/execution_columns';
import { FilterBar } from '../components/filter_bar';
import { Icon } from '../components/icons';
import { Empty, ErrorNote, Loading } from '../components/notes';
import { PageHead } from '../components/page_head';
import { Table } from '../components/table';
import { actFilter, apiQuery, isFiltered, readFilters, type Filters } from '../lib/filters';
import { count, counted } from '../lib/format';
import { useStore } from '../lib/store';
import { useResource } from '../lib/use_resource';
import { useShortcuts } from '../state/keyboard';
import { listen, liveOn, livePaused } from '../state/live';
import { me, useHas } from '../state/me';
import { href, place, query, setParams } from '../state/router';
import { changeSettings, settings } from '../state/settings';

export function ExecutionsPage(): JSX.Element {
  const { search } = useStore(place);
  const filters = useMemo(() => readFilters(new URLSearchParams(search)), [search]);
  const params = query();
  const cursor = params.get('cursor');
  const own = useStore(settings);
  const columns = shownColumns(params.get('cols')?.split(',') ?? own.columns);
  const hidden = useStore(me)?.hide_payloads === true;
  const payloads = !hidden && columns.some((name) => name === 'input' || name === 'result');
  const asked = useMemo(() => apiQuery(filters), [filters]);
  const key = JSON.stringify([asked, cursor, own.pageSize, payloads, params.get('ns')]);

  const page = useResource(`executions ${key}`, (signal) =>
    get<ExecutionPage>('v1/executions', { ...asked, cursor, limit: own.pageSize, payloads }, { signal }));
  const hasCount = useHas('/v1/executions/count') === true;
  const hasJobs = useHas('/v1/jobs', 'post') === true;
  const counts = useResource(`counts ${JSON.stringify(asked)} ${params.get('ns') ?? ''}`, (signal) =>
    get<Counts>('v1/executions/count', asked, { signal }), { enabled: hasCount, everyMs: 10_000 });

  const paused = useStore(livePaused);
  const on = useStore(liveOn);
  const live = useLiveRows(page.data, filters, cursor === null, own.pageSize, page.reload);
  const rows = live.rows;

  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState(false);
  useEffect(() => {
    setChosen(new Set());
    setAll(false);
  }, [JSON.stringify(asked), params.get('ns')]);
  const toggle = useCallback((id: string) => {
    setAll(false);
    setChosen((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);
  const pageChosen = rows.length > 0 && rows.every((row) => chosen.has(row.id));

  useShortcuts('List of executions', [
    { keys: 'p', does: 'pause or resume the live list', run: () => livePaused.set(!livePaused.get()) },
    { keys: 'r', does: 'read again', run: page.reload },
    { keys: 'Escape', does: 'take the selection back', run: () => { setChosen(new Set()); setAll(false); } },
  ]);

  const filter = actFilter(filters, hasJobs);
  const acts: BulkAct[] = ['cancel', 'retry', 'discard', 'move'];
  const matched = counts.data?.exact ? counts.data.count : undefined;
  return (
    <>
      <PageHead
        title="Executions"
        sub={counts.data ? `${count(counts.data.count)}${counts.data.exact ? '' : '+'} ${isFiltered(filters) ? 'match' : 'in all'}` : undefined}
      >
        <button
          type="button" class={paused ? 'live' : on ? 'live on' : 'live'} aria-pressed={paused} title="p"
          onClick={() => livePaused.set(!paused)}
        >
          <Icon name={paused ? 'play' : 'pause'} /> {paused ? 'Held still' : on ? 'Live' : 'Connecting'}
        </button>
        <ColumnChoice
          chosen={columns} payloads={!hidden}
          onChange={(next) => {
            changeSettings({ columns: next });
            setParams({ cols: next.join(',') }, true);
          }}
        />
        <button type="button" class="ghost" onClick={page.reload} title="Read again (r)" aria-label="Read again"><Icon name="refresh" /></button>
      </PageHead>
      <FilterBar filters={filters} counts={counts.data} />
      <ErrorNote error={page.error} retry={page.reload} what="Reading the list" />
      <BulkBar
        target={{ ids: [...chosen], filter, all }} acts={all && filter === null && isFiltered(filters) ? [] : acts} matched={all ? matched : undefined}
        onDone={() => { setChosen(new Set()); setAll(false); page.reload(); }}
      >
        {pageChosen && !all && isFiltered(filters) && (page.data?.next || cursor) && (
          filter === null
            ? <span class="dim">all pages: only with filters by status, queue, task, tag or metadata</span>
            : <button type="button" class="link" onClick={() => setAll(true)}>select all that match{matched === undefined ? '' : `, ${count(matched)}`}</button>
        )}
        <button type="button" class="link" onClick={() => { setChosen(new Set()); setAll(false); }}>clear</button>
      </BulkBar>
      {live.waiting > 0 && (
        <button type="button" class="newer" onClick={() => (cursor === null ? live.take() : setParams({ cursor: null }))}>
          {counted(live.waiting, 'newer execution')}{live.waiting >= 100 ? ' or more' : ''} · show
        </button>
      )}
      {!page.data && !page.error ? <Loading what="executions" /> : rows.length === 0 && page.data ? (
        page.data.search_stopped ? (
          <Empty title="Nothing found yet"><p>The search stopped at its bound of 10,000 executions or 64 MiB; it goes on from there.</p></Empty>
        ) : isFiltered(filters) ? (
          <Empty title="Nothing matches"><p>Take a filter away, or look at <a href={href('executions')}>all executions</a>. Records leave the list when their retention is over.</p></Empty>
        ) : (
          <Empty title="No executions yet">
            <p>Enqueue the first one:</p>
            <pre class="mono">hapax enqueue greet --input '{'{"name":"Ada"}'}'</pre>
          </Empty>
        )
      ) : (
        <Table
          label="Executions" rows={rows} id={(row) => row.id}
          columns={executionColumns(columns)}
          open={(row) => href(`executions/${row.id}`)}
          rowClass={(row) => (live.fresh.has(row.id) ? 'fresh' : '')}
          selection={{
            has: (id) => all || chosen.has(id), toggle, all: all || pageChosen,
            toggleAll: () => { setAll(false); setChosen(pageChosen || all ? new Set() : new Set(rows.map((row) => row.id))); },
          }}
        />
      )}
      {page.data && (
        <footer class="pager">
          {cursor !== null && <a class="button" href={hrefWith({ cursor: null })}>Newest</a>}
          <span class="dim num">{counted(rows.length, 'row')}{page.data.search_stopped ? ' · the search stopped at its bound' : ''}</span>
          {page.data.next && <a class="button" href={hrefWith({ cursor: page.data.next })}>{page.data.search_stopped ? 'Search on' : 'Older'}</a>}
          <label class="dim">rows{' '}
            <select value={String(own.pageSize)} onChange={(event) => changeSettings({ pageSize: Number(event.currentTarget.value) })}>
              {[25, 50, 100, 200].map((size) => <option key={size} value={String(size)}>{size}</option>)}
            </select>
          </label>
        </footer>
      )}
    </>
  );
}

function hrefWith(changes: Record<string, string | null>): string {
  const search = query();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) search.delete(name);
    else search.set(name, value);
  }
  const text = search.toString();
  return location.pathname + (text === '' ? '' : `?${text}`);
}

// Whether an execution still belongs to the list, as far as its own members tell; a text or an activity cannot be
// judged here, so such lists only change the rows that they have.
function fits(e: Execution, filters: Filters): boolean | null {
  if (filters.text || filters.activity || filters.identity || filters.key || filters.created_before) return null;
  if (filters.status && !filters.status[0]!.split(',').includes(e.status)) return false;
  if (filters.queue && e.queue !== filters.queue[0]) return false;
  if (filters.task && e.task !== filters.task[0]) return false;
  if (filters.tag && !e.tags.includes(filters.tag[0]!)) return false;
  if (filters.parent && e.parent !== filters.parent[0]) return false;
  if (filters.dead && !e.dead) return false;
  for (const each of filters.metadata ?? []) {
    const at = each.indexOf('=');
    if (String(e.metadata?.[each.slice(0, at)]) !== each.slice(at + 1)) return false;
  }
  return true;
}

const newerParsed = 100; // in one hand-out; more are told as "or more"
const freshMost = 10; // more rows than this are not lit up one by one

interface Live {
  rows: Execution[];
  fresh: ReadonlySet<string>;
  waiting: number;
  take: () => void;
}

// The page's rows with the stream's changes in them. Only the rows on the screen, and the newest of what is new, are
// parsed, so that a thousand changes a second cost little.
function useLiveRows(page: ExecutionPage | undefined, filters: Filters, newestPage: boolean, most: number, reload: () => void): Live {
  const [rows, setRows] = useState<Execution[]>([]);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const [waiting, setWaiting] = useState<Execution[]>([]);
  const now = useRef({ rows, filters, newestPage, most, reload });
  now.current = { rows, filters, newestPage, most, reload };
  useEffect(() => {
    setRows(page?.executions ?? []);
    setFresh(new Set());
    setWaiting([]);
  }, [page]);
  useEffect(() => listen((changes) => {
    const { rows: old, filters: wanted, newestPage: newest, most: bound, reload: again } = now.current;
    if (changes.reset) {
      again();
      return;
    }
    const touched = new Set<string>();
    let next = old.map((row) => {
      const text = changes.executions.get(row.id);
      if (text === undefined) return row;
      touched.add(row.id);
      return { ...row, ...(JSON.parse(text) as Execution) };
    });
    const top = old[0]?.id ?? '';
    const shown = new Set(old.map((row) => row.id));
    // Ids begin with their time, so newer ones sort behind.
    const newer = [...changes.executions.keys()].filter((id) => id > top && !shown.has(id)).sort().slice(-Math.min(newerParsed, bound));
    const parsed = newer.map((id) => JSON.parse(changes.executions.get(id)!) as Execution).filter((e) => fits(e, wanted) === true).reverse();
    if (touched.size === 0 && parsed.length === 0) return;
    const atTop = newest && scrollY < 200 && !document.querySelector('tr.selected, dialog[open]');
    if (parsed.length > 0 && atTop) {
      next = [...parsed, ...next].slice(0, bound);
      for (const e of parsed) touched.add(e.id);
    } else if (parsed.length > 0) {
      setWaiting((before) => {
        const known = new Set(parsed.map((e) => e.id));
        return [...parsed, ...before.filter((e) => !known.has(e.id))].slice(0, 200);
      });
    }
    setRows(next);
    setFresh(touched.size > freshMost ? new Set() : touched);
  }), []);
  return {
    rows, fresh, waiting: waiting.length,
    take: () => {
      setRows((before) => [...waiting, ...before.filter((row) => !waiting.some((e) => e.id === row.id))].slice(0, most));
      setWaiting([]);
      scrollTo(0, 0);
    },
  };
}
