// Addresses of the dashboard: history URLs below the document's base, so that it works behind a path prefix. A page's
// filters and selection are its query parameters.
import { Store } from '../lib/store';

export interface Place {
  path: string; // without the base: "executions/0193…"
  search: string;
}

const base = new URL(document.baseURI).pathname.replace(/[^/]*$/, '');

function here(): Place {
  const path = location.pathname;
  return {
    path: path.startsWith(base) ? path.slice(base.length).replace(/\/$/, '') : path,
    search: location.search,
  };
}

export const place = new Store<Place>(here());
addEventListener('popstate', () => place.set(here()));

export function query(): URLSearchParams {
  return new URLSearchParams(place.get().search);
}

export type Params = Record<string, string | string[] | number | boolean | null | undefined>;

// The address of a page; keeps the namespace of the present one.
export function href(path: string, params: Params = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const namespace = query().get('ns');
  if (namespace && !search.has('ns')) search.set('ns', namespace);
  const text = search.toString();
  return base + path + (text === '' ? '' : `?${text}`);
}

export function go(address: string, replace = false): void {
  if (address === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  place.set(here());
  if (!replace) scrollTo(0, 0);
}

// Changes parameters of the present page; null takes one away. `replace` leaves no step in the history.
export function setParams(changes: Params, replace = false): void {
  const search = query();
  for (const [name, value] of Object.entries(changes)) {
    search.delete(name);
    if (value === null || value === undefined || value === '' || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  const path = location.pathname + (text === '' ? '' : `?${text}`);
  if (path === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', path);
  place.set(here());
}

// Links of the dashboard are followed without loading the page anew.
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
  if (link.origin !== location.origin || !link.pathname.startsWith(base)) return;
  if (link.getAttribute('href')?.startsWith('#')) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
