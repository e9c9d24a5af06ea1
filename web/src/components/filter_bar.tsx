// Search and filters of a list. Everything it sets is in the address.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { statuses, type Counts, type Queue, type TaskEntry } from '../api/types';
import { get } from '../api/http';
import { filterLabels, filterNames, isId, parseSearch, readFilters, type FilterName, type Filters } from '../lib/filters';
import { shortCount } from '../lib/format';
import { useResource } from '../lib/use_resource';
import { go, href, query, setParams } from '../state/router';
import { Icon } from './icons';
import { StatusBadge } from './status';
import { Text } from './text';

const addable: FilterName[] = ['queue', 'task', 'tag', 'metadata', 'key', 'activity', 'parent', 'created_from', 'created_before'];
const examples: Partial<Record<FilterName, string>> = {
  queue: 'emails', task: 'charge_card', tag: 'shop', metadata: 'region=eu', key: 'order-456 (with a task)', activity: 'daily-report', parent: 'id of a workflow',
  created_from: '2h, 7d or 2026-03-01T09:00:00Z', created_before: '1h or 2026-03-01T10:00:00Z',
};

export function FilterBar({ filters, counts }: { filters: Filters; counts: Counts | undefined }): JSX.Element {
  const [text, setText] = useState(filters.text?.[0] ?? '');
  useEffect(() => setText(filters.text?.[0] ?? ''), [filters.text?.[0]]);
  const chosen = filters.status?.[0]?.split(',') ?? [];
  const set = (changes: Parameters<typeof setParams>[0]): void => setParams({ ...changes, cursor: null, selected: null });
  const search = (): void => {
    if (isId(text)) {
      go(href(`executions/${text.trim().toLowerCase()}`));
      return;
    }
    const found = parseSearch(text);
    set({ ...found.filters, text: found.rest });
  };
  const chips = filterNames.filter((name) => name !== 'status' && name !== 'text').flatMap((name) => (filters[name] ?? []).map((value) => [name, value] as const));
  return (
    <div class="filter-bar">
      <form role="search" class="search" onSubmit={(event) => { event.preventDefault(); search(); }}>
        <Icon name="search" />
        <input
          type="search" aria-label="Search executions" placeholder="Search text, an id, or queue:emails status:failed since:2h" value={text} maxLength={400}
          onInput={(event) => {
            setText(event.currentTarget.value);
            if (event.currentTarget.value === '' && filters.text) set({ text: null });
          }}
          onKeyDown={(event) => { if (event.key === 'Escape') event.currentTarget.blur(); }}
        />
        <kbd aria-hidden="true">/</kbd>
      </form>
      <div class="status-toggles" role="group" aria-label="Statuses">
        {statuses.map((status) => (
          <button
            key={status} type="button" aria-pressed={chosen.includes(status)}
            onClick={() => {
              const next = chosen.includes(status) ? chosen.filter((each) => each !== status) : [...chosen, status];
              set({ status: next.length === statuses.length ? null : next.join(',') });
            }}
          >
            <StatusBadge status={status} />
            {counts && <span class="num dim">{shortCount(counts.by_status[status] ?? 0)}</span>}
          </button>
        ))}
      </div>
      <div class="chips">
        {chips.map(([name, value]) => (
          <span key={name + value} class="chip">
            <span class="dim">{filterLabels[name]}</span> <Text value={name === 'dead' ? 'only' : value} />
            <button
              type="button" class="ghost" aria-label={`Remove the filter ${filterLabels[name]} ${value}`}
              onClick={() => set({ [name]: name === 'metadata' ? query().getAll('metadata').filter((each) => each !== value) : null })}
            >
              <Icon name="close" />
            </button>
          </span>
        ))}
        <AddFilter onAdd={(name, value) => set({ [name]: name === 'metadata' ? [...query().getAll('metadata'), value] : value })} />
        {(chips.length > 0 || chosen.length > 0 || filters.text) && (
          <button type="button" class="link" onClick={() => set(Object.fromEntries(filterNames.map((name) => [name, null])))}>clear</button>
        )}
      </div>
    </div>
  );
}

function AddFilter({ onAdd }: { onAdd: (name: FilterName, value: string) => void }): JSX.Element {
  const [name, setName] = useState<FilterName | ''>('');
  const [value, setValue] = useState('');
  const namespace = query().get('ns') ?? '';
  const queues = useResource(`names of queues ${namespace}`, (signal) => get<{ queues: Queue[] }>('v1/queues', {}, { signal }), { enabled: name === 'queue' });
  const tasks = useResource(`names of tasks ${namespace}`, (signal) => get<{ tasks: TaskEntry[] }>('v1/tasks', {}, { signal }), { enabled: name === 'task' });
  const known = name === 'queue' ? (queues.data?.queues ?? []).map((each) => each.queue) : name === 'task' ? (tasks.data?.tasks ?? []).map((each) => each.task) : [];
  return (
    <form
      class="add-filter"
      onSubmit={(event) => {
        event.preventDefault();
        if (name === '' || value.trim() === '') return;
        onAdd(name, value.trim());
        setName('');
        setValue('');
      }}
    >
      <select aria-label="Add a filter" value={name} onChange={(event) => setName(event.currentTarget.value as FilterName)}>
        <option value="">+ filter</option>
        {addable.map((each) => <option key={each} value={each}>{filterLabels[each]}</option>)}
      </select>
      {name !== '' && (
        <>
          <input
            aria-label={`Value of the filter ${filterLabels[name]}`} autofocus list="filter-values" placeholder={examples[name] ?? ''} value={value} maxLength={400}
            ref={(element) => { if (element && value === '') element.focus(); }}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
          <datalist id="filter-values">{known.slice(0, 200).map((each) => <option key={each} value={each} />)}</datalist>
          <button type="submit" class="small">add</button>
        </>
      )}
    </form>
  );
}

export function presentFilters(): Filters {
  return readFilters(query());
}
