// A server on a store of the test's own, with a worker, a workflow-free load of all statuses, and hostile payloads.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const bin = process.env.HAPAX_BIN;
if (!bin) throw new Error('HAPAX_BIN is not set: it must name the program under test');

// Runs window.pwned = true wherever a page takes it for more than text.
export const hostile = {
  script: '<script>window.pwned = true</script>',
  image: '<img src=x onerror="window.pwned = true">',
  link: 'javascript:window.pwned = true',
  bidi: 'photo_\u202egnp.exe',
  escapes: '\u001b]0;title\u0007\u001b[31mred',
  long: 'x'.repeat(200_000),
  exact: 12345678901234567,
};
// JSON.stringify would round what JavaScript cannot hold.
export const hostileText = JSON.stringify(hostile).replace('12345678901234568', '12345678901234567890');

export function deepJson(depth) {
  return '['.repeat(depth) + ']'.repeat(depth);
}

function environment(extra) {
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HAPAX_')));
  return { ...kept, ...extra };
}

export class World {
  constructor() {
    this.folder = mkdtempSync(path.join(process.cwd(), 'world-'));
    this.store = process.env.HAPAX_BROWSER_STORE ?? `sqlite:${path.join(this.folder, 'store.db')}`;
    this.children = [];
    this.port = 0;
  }

  hapax(...args) {
    const done = spawnSync(bin, args, { env: environment({ HAPAX_STORE_URL: this.store }), encoding: 'utf8', timeout: 60_000 });
    if (done.status !== 0) throw new Error(`hapax ${args.join(' ')}: exit ${done.status}: ${done.stderr}${done.stdout}`);
    return done.stdout;
  }

  json(...args) {
    return JSON.parse(this.hapax(...args, '--json'));
  }

  spawn(...args) {
    const child = spawn(bin, args, { env: environment({ HAPAX_STORE_URL: this.store }), stdio: ['ignore', 'pipe', 'inherit'] });
    this.children.push(child);
    return child;
  }

  async serve(...flags) {
    this.server = this.spawn('serve', '--listen', `127.0.0.1:${this.port}`, '--log', 'off', ...flags);
    this.url = await new Promise((resolve, reject) => {
      let text = '';
      this.server.stdout.on('data', (piece) => {
        text += piece;
        const found = /listening on (\S+)/.exec(text);
        if (found) resolve(found[1]);
      });
      this.server.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
    });
    this.port = Number(new URL(this.url).port);
  }

  async stopServer() {
    const ended = new Promise((resolve) => this.server.on('exit', resolve));
    this.server.removeAllListeners('exit');
    this.server.on('exit', () => undefined);
    const gone = new Promise((resolve) => this.server.once('close', resolve));
    this.server.kill('SIGKILL');
    await Promise.race([ended, gone]);
  }

  async call(method, route, body, headers = {}) {
    const response = await fetch(this.url + route, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  work(script, ...queues) {
    const program = path.join(this.folder, 'handler.sh');
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return this.spawn('work', ...queues.flatMap((queue) => ['--queue', queue]), '--exec', program, '--concurrency', '2');
  }

  // The example whose workflow waits for a signal; its worker ends when its standard input does.
  approvals() {
    const program = process.env.HAPAX_APPROVAL;
    if (!program) throw new Error('HAPAX_APPROVAL is not set: it must name the example approval');
    this.children.push(spawn(program, ['work', this.store], { stdio: ['pipe', 'ignore', 'inherit'], env: environment({}) }));
  }

  // Waits until `condition` answers something true, and returns that.
  async until(condition, what, seconds = 30) {
    const limit = Date.now() + seconds * 1000;
    for (;;) {
      const value = await condition();
      if (value) return value;
      if (Date.now() > limit) throw new Error(`in vain waited for: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  stop() {
    for (const child of this.children) child.kill('SIGKILL');
  }
}

// Orders of which some fail for good and some are tried again; a paused queue, limits, schedules, hostile payloads.
export async function filledWorld() {
  const world = new World();
  await world.serve();
  const orders = [];
  for (let number = 1; number <= 30; number++) {
    orders.push({ task: 'charge', queue: 'payments', input: { order: number }, task_id: `order-${number}`, tags: ['shop'], metadata: { region: 'eu' } });
  }
  const file = path.join(world.folder, 'orders.ndjson');
  writeFileSync(file, orders.map((order) => JSON.stringify(order)).join('\n') + '\n');
  world.hapax('enqueue', '--bulk', file);
  world.hapax('enqueue', '--bulk', file);
  world.hapax('queue', 'set', 'payments', '--rate-limit', '1000/sec', '--concurrency', '4');
  world.work(
    'read -r input; case "$input" in *:13}) echo "card refused for order 13" >&2; exit 65;; *:7}) [ "$HAPAX_ATTEMPT" -gt 1 ] || { echo busy >&2; exit 75; };; esac; echo \'{"paid":true}\'',
    'payments',
  );
  await world.call('PUT', '/v1/activities/daily', { name: 'Daily report', trigger: { type: 'cron', cron: '0 9 * * 1-5', time_zone: 'Europe/Zurich', misfire_policy: 'catchup' }, target: { task: 'report', queue: 'reports' } });
  await world.call('PUT', '/v1/activities/on-order', { trigger: { type: 'event', types: ['order.*'] }, target: { task: 'charge', queue: 'payments' }, input: { order: 1000 } });
  await world.call('PUT', '/v1/tasks/charge', { queue: 'payments', identity_strategy: 'caller_provided' });
  await world.call('PUT', '/v1/queues/held', { paused: true });
  world.hostile = (await world.call('POST', '/v1/tasks/%3Cb%3Ehostile%3C%2Fb%3E/executions', `{"queue":"<i>idle</i>","input":${hostileText},"tags":["<u>tag</u>"],"metadata":{"<s>name</s>":"<s>value</s>"}}`)).id;
  world.deep = (await world.call('POST', '/v1/tasks/deep/executions', `{"queue":"idle","input":${deepJson(50)}}`)).id;
  world.delayed = (await world.call('POST', '/v1/tasks/later/executions', { queue: 'idle', delay: '2h', input: {} })).id;
  await world.until(async () => {
    const queue = await world.call('GET', '/v1/queues/payments');
    return queue.ready + queue.running + queue.delayed === 0 && queue.dead === 1;
  }, 'the orders to end');
  world.dead = (await world.call('GET', '/v1/dead-letters')).executions[0].id;
  world.retried = (await world.call('GET', '/v1/executions/find?task=charge&task_id=order-7')).id;
  return world;
}

export function need(file, advice) {
  if (!existsSync(file)) throw new Error(`${file} is not there. ${advice}`);
  return file;
}
