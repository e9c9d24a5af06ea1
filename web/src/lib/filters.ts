// The filters of the executions' list: in the address, in a search text ("queue:emails status:failed rest"), and as what
// the API takes.
import type { Query } from '../api/http';

export const filterNames = ['status', 'queue', 'task', 'tag', 'metadata', 'key', 'identity', 'parent', 'activity', 'created_from', 'created_before', 'text', 'dead'] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = Partial<Record<FilterName, string[]>>;

export const filterLabels: Record<FilterName, string> = {
  status: 'status', queue: 'queue', task: 'task', tag: 'tag', metadata: 'metadata', key: 'key', identity: 'identity', parent: 'parent', activity: 'activity',
  created_from: 'created since', created_before: 'created before', text: 'text', dead: 'dead letters',
};

export function readFilters(search: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const name of filterNames) {
    const values = search.getAll(name).filter((value) => value !== '');
    if (values.length > 0) filters[name] = name === 'metadata' ? values : [values[values.length - 1]!];
  }
  return filters;
}

export function isFiltered(filters: Filters): boolean {
  return filterNames.some((name) => filters[name] !== undefined);
}

// "2h", "30d": so long ago; else an instant as it is.
export function instant(text: string): string {
  const found = /^([0-9]+)(m|h|d|w)$/.exec(text);
  if (!found) return text;
  const sizes: Record<string, number> = { m: 60e3, h: 3600e3, d: 86400e3, w: 604800e3 };
  // To the minute, so that the same filter is the same question for a while.
  return new Date(Math.floor((Date.now() - Number(found[1]) * (sizes[found[2]!] ?? 0)) / 60e3) * 60e3).toISOString();
}

export function apiQuery(filters: Filters): Query {
  const query: Query = {};
  for (const name of filterNames) {
    const values = filters[name];
    if (!values) continue;
    if (name === 'key') query.idempotency_key = values[0];
    else if (name === 'created_from' || name === 'created_before') query[name] = instant(values[0]!);
    else if (name === 'metadata') query.metadata = values;
    else query[name] = values[0];
  }
  return query;
}

// What acts on all that match take; null: they cannot take this filter. Durable jobs take every filter of the list.
export function actFilter(filters: Filters, jobs: boolean): Record<string, unknown> | null {
  const filter: Record<string, unknown> = {};
  for (const name of filterNames) {
    const values = filters[name];
    if (!values) continue;
    if (name === 'metadata') filter.metadata = Object.fromEntries(values.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
    else if (name === 'status' || name === 'queue' || name === 'task' || name === 'tag') filter[name] = values[0];
    else if (!jobs) return null;
    else if (name === 'key') filter.idempotency_key = values[0];
    else if (name === 'dead') filter.dead = true;
    else filter[name] = name === 'created_from' || name === 'created_before' ? instant(values[0]!) : values[0];
  }
  return Object.keys(filter).length === 0 ? null : filter;
}

const words: Record<string, FilterName> = {
  status: 'status', is: 'status', queue: 'queue', task: 'task', tag: 'tag', metadata: 'metadata', meta: 'metadata', key: 'key', identity: 'identity', parent: 'parent',
  activity: 'activity', since: 'created_from', before: 'created_before',
};

// Takes "name:value" words out of a search text; the rest is searched as text. Quotes hold spaces together.
export function parseSearch(text: string): { filters: Filters; rest: string } {
  const filters: Filters = {};
  const rest: string[] = [];
  for (const found of text.matchAll(/(?:([a-z]+):)?("[^"]*"|\S+)/g)) {
    const name = found[1] === undefined ? undefined : words[found[1]];
    const value = found[2]!.replace(/^"|"$/g, '');
    if (name === undefined) rest.push(found[1] === undefined ? value : found[0]);
    else filters[name] = name === 'metadata' ? [...(filters.metadata ?? []), value] : [value];
  }
  return { filters, rest: rest.join(' ') };
}

const ids = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export function isId(text: string): boolean {
  return ids.test(text.trim());
}
