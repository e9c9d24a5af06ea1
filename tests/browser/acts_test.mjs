// The acts of an operator, five of them by the keyboard alone; the server goes away and comes back; tokens.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { openBrowser, Watched } from './_browser.mjs';
import { filledWorld, World } from './_world.mjs';

let world;
let context;

before(async () => {
  world = await filledWorld();
  context = await openBrowser();
});
after(async () => {
  await context?.close();
  world?.stop();
});

const status = async (id) => (await world.call('GET', `/v1/executions/${id}`)).status;

async function enqueue(queue = 'idle') {
  return (await world.call('POST', '/v1/tasks/acted/executions', { queue, input: { n: 1 } })).id;
}

test('by keys: go to a page, search, move, select and cancel', async () => {
  const ids = [await enqueue('keys'), await enqueue('keys')];
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('');
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await page.waitForSelector('h1:has-text("Executions")');
  await page.keyboard.press('/');
  await page.keyboard.type('queue:keys');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2);
  await page.keyboard.press('Escape');
  for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key);
  await page.waitForSelector('.bulk-bar:has-text("2 selected")');
  await page.focus('.bulk-bar button:has-text("Cancel")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('not wanted');
  await page.keyboard.press('Enter');
  await world.until(async () => (await status(ids[0])) === 'cancelled' && (await status(ids[1])) === 'cancelled', 'both to be cancelled');
  await watched.quiet('cancel by keys');
  await watched.close();
});

test('by keys: help opens and closes, a row opens, the list comes back', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('executions', 'tbody tr');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open] h2:has-text("Keys")');
  await page.keyboard.press('Escape');
  await page.waitForSelector('dialog[open]', { state: 'detached' });
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.execution-head');
  await page.keyboard.press('u');
  await page.waitForSelector('tbody tr');
  await watched.quiet('help by keys');
  await watched.close();
});

test('a dead letter is retried from its page', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go(`executions/${world.dead}`);
  await page.click('.page-head button:has-text("Retry")');
  await page.click('dialog button[type=submit]');
  await page.waitForFunction((id) => !location.pathname.includes(id), world.dead);
  await page.waitForSelector('.execution-head');
  assert.ok((await world.call('GET', `/v1/executions/${world.dead}`)).retried_as);
  await watched.quiet('retry');
  await watched.close();
});

test('a queue is paused and resumed; a limit is edited in place; a bad one says which', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('queues/payments', '.limits');
  await page.click('button:has-text("Pause")');
  await page.waitForSelector('button:has-text("Resume")');
  assert.equal((await world.call('GET', '/v1/queues/payments')).paused, true);
  await page.click('button:has-text("Resume")');
  await page.waitForSelector('button:has-text("Pause")');
  await page.fill('.limits label:has-text("At once") input', '7');
  await page.click('.limits button[type=submit]');
  await world.until(async () => (await world.call('GET', '/v1/queues/payments')).concurrency === 7, 'the limit to be in force');
  await watched.quiet('queue');
  watched.expected = /400/;
  await page.fill('.limits label:has-text("starts of the whole queue") input', 'often');
  await page.click('.limits button[type=submit]');
  await page.waitForSelector('.limits [role=alert]');
  assert.equal(await page.inputValue('.limits label:has-text("starts of the whole queue") input'), 'often');
  await watched.quiet('a bad limit');
  await watched.close();
});

test('an event is sent and the page shows who took it; the same id starts nothing again', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('schedules?view=event');
  await page.click('.composer button[type=submit]');
  await page.waitForSelector('.routed:has-text("started")');
  await page.click('.composer button[type=submit]');
  await page.waitForSelector('.routed:has-text("it had started before")');
  await watched.quiet('event');
  await watched.close();
});

test('an outage is asked about by dragging over the line of time', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('schedules/daily?range=7d');
  const box = await page.locator('.timeline').boundingBox();
  await page.mouse.move(box.x + box.width * 0.55, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.95, box.y + 10, { steps: 5 });
  await page.mouse.up();
  await page.waitForSelector('.policy.own:has-text("catchup")');
  assert.match(page.url(), /span=/);
  await watched.quiet('outage');
  await watched.close();
});

test('the list is live, and holds still when it is paused', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go('executions?queue=live');
  await page.waitForSelector('button.live.on');
  const first = await enqueue('live');
  await page.waitForSelector(`tr[data-id="${first}"]`);
  await page.click('button.live');
  const second = await enqueue('live');
  await page.waitForTimeout(1500);
  assert.equal(await page.locator(`tr[data-id="${second}"]`).count(), 0);
  await page.click('button.live');
  await page.waitForSelector(`tr[data-id="${second}"]`);
  await watched.quiet('live');
  await watched.close();
});

test('a call from another origin changes nothing', async () => {
  for (const headers of [{ Origin: 'http://elsewhere.example' }, { 'Sec-Fetch-Site': 'cross-site' }]) {
    const response = await fetch(`${world.url}/v1/queues/payments/pause`, { method: 'POST', headers });
    assert.equal(response.status, 403);
  }
});

test('a server that goes away: a line with the age of the picture, and the page comes back by itself', async () => {
  const own = new World();
  await own.serve();
  const watched = await Watched.open(context, own);
  watched.expected = /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to load resource/;
  const { page } = watched;
  await watched.go('queues');
  await own.stopServer();
  await page.waitForSelector('.banner:has-text("old")', { timeout: 15_000 });
  await own.serve();
  await page.waitForSelector('.banner', { state: 'detached', timeout: 20_000 });
  await watched.quiet('the server came back');
  await watched.close();
  own.stop();
});

test('a token is asked for, a wrong one is told at once, and a revoked one keeps what was typed', async () => {
  const own = new World();
  await own.serve();
  const made = own.json('token', 'create', '--scopes', 'read,enqueue,admin', '--name', 'ops');
  const watched = await Watched.open(context, own);
  watched.expected = /401/;
  const { page } = watched;
  await own.until(async () => (await fetch(`${own.url}/v1/queues`)).status === 401, 'the server to want tokens');
  await page.goto(`${own.url}/schedules?view=event`);
  await page.fill('input[type=password]', 'not-a-token');
  await page.click('button[type=submit]');
  await page.waitForSelector('[role=alert]:has-text("refused")');
  await watched.accessible('sign-in');
  await page.fill('input[type=password]', made.token);
  await page.click('button[type=submit]');
  await page.waitForSelector('.composer');
  assert.match(page.url(), /view=event/);
  assert.equal(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }).includes('hapax_')), false, 'the token is in memory alone');
  await page.fill('.composer label:has-text("Subject") input', 'typed before');
  own.hapax('token', 'revoke', made.id);
  await own.until(async () => (await fetch(`${own.url}/v1/queues`, { headers: { Authorization: `Bearer ${made.token}` } })).status === 401, 'the token to be revoked');
  await page.click('.composer button[type=submit]');
  await page.waitForSelector('dialog[open]:has-text("Sign in again")');
  assert.equal(await page.inputValue('.composer label:has-text("Subject") input'), 'typed before');
  await watched.quiet('tokens');
  await watched.close();
  own.stop();
});

test('below a path of a proxy every page and call works', async () => {
  const target = new URL(world.url);
  const proxy = http.createServer((request, response) => {
    if (!request.url.startsWith('/ops/hapax/')) {
      response.writeHead(404).end();
      return;
    }
    const onward = http.request({ host: target.hostname, port: target.port, method: request.method, path: request.url.slice('/ops/hapax'.length), headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const below = { url: `http://127.0.0.1:${proxy.address().port}/ops/hapax` };
  const watched = await Watched.open(context, below);
  for (const route of ['', 'executions', `executions/${world.retried}?tab=attempts`, 'queues/payments']) {
    await watched.go(route);
    await watched.quiet(`below a path: ${route}`);
  }
  await watched.page.click('nav a:has-text("Queues")');
  await watched.page.waitForSelector('h1:has-text("Queues")');
  assert.ok(watched.page.url().startsWith(`${below.url}/queues`), watched.page.url());
  await watched.go('queues/held', '.limits');
  await watched.page.click('button:has-text("Resume")');
  await world.until(async () => (await world.call('GET', '/v1/queues/held')).paused === false, 'the queue to go on');
  await watched.quiet('below a path: an act');
  await watched.close();
  proxy.close();
});
