// The one place that talks to the server: token, namespace, errors, retries of reads, cancellation.
import { Store } from '../lib/store';
import { parseJson } from '../lib/lossless_json';
import { connection } from '../state/connection';
import { query as urlQuery } from '../state/router';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    message: string,
    readonly problem: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

// The server did not answer: it is away, or the network is.
export class Unreachable extends Error {}

export const token = new Store<string | null>(null);
// Set when the server refuses the token, or asks for one; the text says why.
export const refusedToken = new Store<string | null>(null);

export type Query = Record<string, string | number | boolean | string[] | null | undefined>;

export interface Call {
  query?: Query;
  body?: unknown;
  rawBody?: string;
  contentType?: string;
  signal?: AbortSignal;
  // Keeps numbers that a double would round; slower, for one execution and its payloads.
  lossless?: boolean;
  text?: boolean;
  timeoutMs?: number;
}

const readTries = 3;
const timeoutUsual = 30_000;

export function address(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ''), document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(each));
  }
  return url.toString();
}

export function segment(text: string): string {
  return encodeURIComponent(text);
}

export function headers(): Record<string, string> {
  const own = token.get();
  if (own !== null) return { Authorization: `Bearer ${own}` };
  const namespace = urlQuery().get('ns');
  return namespace ? { 'Hapax-Namespace': namespace } : {};
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

async function problemOf(response: Response): Promise<ApiError> {
  let problem: Record<string, unknown> = {};
  try {
    problem = (await response.json()) as Record<string, unknown>;
  } catch {
    // A proxy's page, or nothing.
  }
  const detail = typeof problem.detail === 'string' ? problem.detail : `the server answered ${response.status} ${response.statusText}`;
  const name = typeof problem.error === 'string' ? problem.error : `HTTP ${response.status}`;
  return new ApiError(response.status, name, detail, problem);
}

async function once(method: string, path: string, call: Call): Promise<Response> {
  const cancel = new AbortController();
  const timer = setTimeout(() => cancel.abort(new Unreachable('the server did not answer in time')), call.timeoutMs ?? timeoutUsual);
  const outer = (): void => cancel.abort(call.signal?.reason);
  if (call.signal?.aborted) outer();
  call.signal?.addEventListener('abort', outer);
  const sent: Record<string, string> = { Accept: 'application/json', ...headers() };
  const body = call.rawBody ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  if (body !== undefined) sent['Content-Type'] = call.contentType ?? 'application/json';
  try {
    return await fetch(address(path, call.query), {
      method,
      headers: sent,
      ...(body === undefined ? {} : { body }),
      signal: cancel.signal,
      cache: 'no-store',
      credentials: 'omit',
    });
  } catch (error) {
    if (call.signal?.aborted) throw call.signal.reason;
    throw error instanceof Unreachable ? error : new Unreachable('the server cannot be reached');
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', outer);
  }
}

async function answered(method: string, path: string, call: Call): Promise<Response> {
  const used = token.get();
  for (let tries = 1; ; tries++) {
    const last = method !== 'GET' || tries >= readTries;
    try {
      const response = await once(method, path, call);
      if (response.ok) {
        connection.succeeded();
        return response;
      }
      const problem = await problemOf(response);
      // An answer to a call from before a new sign-in says nothing about the new token.
      if (response.status === 401 && used === token.get()) refusedToken.set(problem.message);
      // A store that is away is told like a server that is away: the picture grows old.
      if (response.status === 502 || response.status === 503 || response.status === 504) {
        connection.failed(problem.message);
        if (!last) {
          await pause(Math.min(5, Number(response.headers.get('Retry-After') ?? 1) || 1) * 400 * tries, call.signal);
          continue;
        }
      } else connection.succeeded();
      throw problem;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      connection.failed(error.message);
      if (last) throw error;
      await pause(300 * tries, call.signal);
    }
  }
}

export async function request<T>(method: string, path: string, call: Call = {}): Promise<T> {
  const response = await answered(method, path, call);
  const text = await response.text();
  if (call.text) return text as T;
  if (text === '') return undefined as T;
  return (call.lossless ? parseJson(text) : JSON.parse(text)) as T;
}

export const get = <T>(path: string, query: Query = {}, call: Call = {}): Promise<T> =>
  request<T>('GET', path, { ...call, query });
export const post = <T>(path: string, body: unknown = {}, call: Call = {}): Promise<T> =>
  request<T>('POST', path, { ...call, ...(call.rawBody === undefined ? { body } : {}) });
export const put = <T>(path: string, body: unknown): Promise<T> => request<T>('PUT', path, { body });
export const remove = <T>(path: string): Promise<T> => request<T>('DELETE', path);

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
