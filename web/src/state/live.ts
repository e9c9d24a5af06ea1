// Live changes: GET /v1/stream read by fetch, as EventSource cannot send a token. Changes are gathered by id and handed
// out at most four times a second (once a second when there are many), as texts: a listener parses the few that it shows. The stream leaves out states in
// between, so nothing is counted from it.
import { address, ApiError, headers, refusedToken, token } from '../api/http';
import { Store } from '../lib/store';
import { connection } from './connection';
import { query } from './router';

export interface Changes {
  executions: Map<string, string>; // id → the object's JSON, the newest
  queues: Map<string, string>;
  reset: boolean; // changes were missed: read everything anew
}

export const livePaused = new Store(false);
export const liveOn = new Store(false);

const handEvery = 250;
// Nobody reads a list that changes more than this in a quarter of a second.
const many = 40;
const handManyEvery = 1000;
const executionsKept = 5000; // between two hand-outs; beyond it the page reads anew
const lineMost = 4 << 20;

type Listener = (changes: Changes) => void;
const listeners = new Set<Listener>();
let gathered: Changes = empty();
let timer: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | undefined;
let lastId = '';
let handedAt = 0;

function empty(): Changes {
  return { executions: new Map(), queues: new Map(), reset: false };
}

export function listen(listener: Listener): () => void {
  listeners.add(listener);
  if (!running) void run();
  return () => {
    listeners.delete(listener);
    // The next page usually listens too: the connection stays a moment.
    setTimeout(() => {
      if (listeners.size === 0) stop();
    }, 3000);
  };
}

function stop(): void {
  running?.abort();
  running = undefined;
  liveOn.set(false);
}

// A new token or namespace: other changes.
export function restartLive(): void {
  stop();
  lastId = '';
  gathered = empty();
  if (listeners.size > 0) void run();
}
token.watch(restartLive);

function hand(): void {
  timer = undefined;
  if (livePaused.get() || document.hidden) {
    schedule(1000);
    return;
  }
  const now = performance.now();
  if (gathered.executions.size > many && now - handedAt < handManyEvery && !gathered.reset) {
    schedule(handManyEvery - (now - handedAt));
    return;
  }
  handedAt = now;
  const changes = gathered;
  gathered = empty();
  for (const listener of [...listeners]) listener(changes);
}

function schedule(ms = handEvery): void {
  timer ??= setTimeout(hand, ms);
}

function take(event: string, data: string): void {
  if (event === 'execution') {
    // The id is the first member; the rest is parsed by whoever shows it.
    const id = /^\{"id":"([0-9a-f-]{36})"/.exec(data)?.[1];
    if (id === undefined) return;
    if (gathered.executions.size >= executionsKept && !gathered.executions.has(id)) gathered.reset = true;
    else gathered.executions.set(id, data);
  } else if (event === 'queue') {
    const name = /"queue":("(?:[^"\\]|\\.)*")/.exec(data)?.[1];
    if (name !== undefined) gathered.queues.set(JSON.parse(name) as string, data);
  } else if (event === 'reset' || (event === 'ready' && data.includes('"missed":true'))) {
    gathered.reset = true;
  } else return;
  schedule();
}

async function read(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let event = '';
  let data = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    connection.succeeded();
    rest += decoder.decode(value, { stream: true });
    let from = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      const line = rest.slice(from, end);
      from = end + 1;
      if (line === '') {
        if (event !== '') take(event, data);
        event = '';
        data = '';
      } else if (line.startsWith('data: ')) data += line.slice(6);
      else if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('id: ')) lastId = line.slice(4);
    }
    rest = rest.slice(from);
    if (rest.length > lineMost) throw new Error('the stream sent a line that does not end');
  }
}

async function run(): Promise<void> {
  const own = new AbortController();
  running = own;
  for (let failures = 0; !own.signal.aborted; ) {
    try {
      const response = await fetch(address('v1/stream'), {
        headers: { Accept: 'text/event-stream', ...headers(), ...(lastId === '' ? {} : { 'Last-Event-ID': lastId }) },
        signal: own.signal,
        cache: 'no-store',
        credentials: 'omit',
      });
      if (response.status === 401) {
        refusedToken.set('the token is not accepted any more');
        break;
      }
      if (!response.ok || !response.body) throw new ApiError(response.status, 'Stream', `the stream answered ${response.status}`);
      connection.succeeded();
      failures = 0;
      liveOn.set(true);
      await read(response.body);
    } catch (error) {
      if (own.signal.aborted) return;
      liveOn.set(false);
      if (error instanceof ApiError && (error.status === 403 || error.status === 404)) break;
      if (failures > 0) connection.failed('the server cannot be reached');
    }
    liveOn.set(false);
    failures++;
    await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 500 * 2 ** failures) * (0.7 + Math.random() * 0.6)));
  }
  if (running === own) running = undefined;
}

let namespaceBefore = query().get('ns');
export function namespaceMayHaveChanged(): void {
  const now = query().get('ns');
  if (now === namespaceBefore) return;
  namespaceBefore = now;
  restartLive();
}
