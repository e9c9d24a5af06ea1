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

async function whoAmI(paths: Record<string, unknown>): Promise<Me | null> {
  if ('/v1/me' in paths) return get<Me>('v1/me');
  // A server that cannot tell is asked whether it wants a token, by a small read.
  try {
    await get('v1/queues');
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 403)) throw error;
  }
  return null;
}

// Reads which routes there are, and who the caller is.
export async function find(): Promise<void> {
  if (routes.get() === null) {
    routes.set((await get<{ paths: Record<string, Record<string, unknown>> }>('openapi.json')).paths);
  }
  try {
    me.set(await whoAmI(routes.get() ?? {}));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
    known.set('sign-in');
    return;
  }
  if (me.get()?.tokens_required && token.get() === null && me.get()?.scopes.length === 0) {
    known.set('sign-in');
    return;
  }
  refusedToken.set(null);
  known.set('known');
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
