// Who the caller is, what the token may do, and which routes the server has.
import { ApiError, get, refusedToken, token } from '../api/http';
import type { Me, Scope } from '../api/types';
import { Store, useStore } from '../lib/store';
import { settings } from './settings';

export type Known = 'unknown' | 'known' | 'sign-in';
export const known = new Store<Known>('unknown');
export const me = new Store<Me | null>(null);
// Paths of /openapi.json; null until they are read.
const routes = new Store<Record<string, Record<string, unknown>> | null>(null);

const kept = 'hapax-token';

export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(kept);
  } catch {
    return null;
  }
}

function keep(value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(kept);
    else sessionStorage.setItem(kept, value);
  } catch {
    // A browser may forbid storage; then the token stays in memory.
  }
}

// Reads who the caller is. A server without /v1/me is asked whether it wants a token by a small read.
export async function find(): Promise<void> {
  try {
    me.set(await get<Me>('v1/me'));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) {
      known.set('sign-in');
      return;
    }
    if (error.status !== 404) throw error;
    try {
      await get('v1/queues');
    } catch (second) {
      if (second instanceof ApiError && second.status === 401) {
        known.set('sign-in');
        return;
      }
      if (!(second instanceof ApiError && second.status === 403)) throw second;
    }
    me.set(null);
  }
  if (me.get()?.tokens_required && token.get() === null && me.get()?.scopes.length === 0) {
    known.set('sign-in');
    return;
  }
  refusedToken.set(null);
  known.set('known');
  if (routes.get() === null) {
    try {
      routes.set((await get<{ paths: Record<string, Record<string, unknown>> }>('openapi.json')).paths);
    } catch {
      routes.set({});
    }
  }
}

export async function signIn(value: string, remember: boolean): Promise<void> {
  const before = token.get();
  token.set(value);
  try {
    refusedToken.set(null);
    await find();
    if (refusedToken.get() !== null) throw new ApiError(401, 'Unauthorized', refusedToken.get() ?? '');
    keep(remember ? value : null);
  } catch (error) {
    token.set(before);
    throw error;
  }
}

export function signOut(): void {
  keep(null);
  token.set(null);
  me.set(null);
  known.set('sign-in');
}

// Whether an act that needs the scope is offered. A server that does not tell is asked by trying.
export function useMay(scope: Scope): boolean {
  const who = useStore(me);
  const own = useStore(settings);
  if (own.readOnly && scope !== 'read') return false;
  if (!who) return true;
  return (scope === 'read' || !who.read_only) && who.scopes.includes(scope);
}

// Whether the server has a route. undefined: its description is not read yet.
export function useHas(path: string, method = 'get'): boolean | undefined {
  const paths = useStore(routes);
  if (paths === null) return undefined;
  return paths[path]?.[method] !== undefined;
}

// Whether the request body of a route has a member.
export function useTakes(path: string, member: string): boolean {
  const paths = useStore(routes);
  const operation = paths?.[path]?.post as { requestBody?: { content?: Record<string, { schema?: { properties?: object } }> } } | undefined;
  const properties = operation?.requestBody?.content?.['application/json']?.schema?.properties;
  return properties !== undefined && member in properties;
}
