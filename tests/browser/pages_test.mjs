// Every page renders in light and dark, at 1440 and 360 px, quietly and accessibly; payloads are only ever text.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, Watched } from './_browser.mjs';
import { filledWorld } from './_world.mjs';

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

function pages() {
  return {
    overview: '',
    executions: 'executions',
    'executions-failed': 'executions?status=failed&cols=status,task,key,input,error,tags,metadata',
    execution: `executions/${world.dead}`,
    'execution-attempts': `executions/${world.retried}?tab=attempts`,
    'execution-identity': `executions/${world.retried}?tab=identity`,
    'execution-related': `executions/${world.retried}?tab=related`,
    'execution-compare': `executions/${world.dead}?tab=compare&with=${world.retried}`,
    queues: 'queues',
    queue: 'queues/payments',
    'dead-letters': 'dead-letters',
    'dead-letters-list': 'dead-letters?view=list',
    schedules: 'schedules',
    schedule: `schedules/daily?range=7d&span=2026-03-02T00:00:00Z~2026-03-05T00:00:00Z`,
    event: 'schedules?view=event',
    workers: 'workers',
    guards: 'guards',
    audit: 'audit',
    settings: 'settings',
    tasks: 'settings?tab=tasks',
    tokens: 'settings?tab=tokens',
    health: 'settings?tab=doctor',
  };
}

for (const look of [{ name: 'light' }, { name: 'dark', dark: true }, { name: 'narrow', width: 360 }]) {
  test(`every page is quiet and accessible: ${look.name}`, async () => {
    const watched = await Watched.open(context, world, look);
    for (const [name, route] of Object.entries(pages())) {
      await watched.go(route);
      await watched.quiet(`${name}, ${look.name}`);
      await watched.accessible(`${name}, ${look.name}`);
      await watched.shot(look.name === 'light' ? name : `${name}-${look.name}`);
    }
    await watched.close();
  });
}

test('hostile payloads are text: nothing runs, direction and escapes are shown, numbers stay exact', async () => {
  const watched = await Watched.open(context, world);
  await watched.go(`executions/${world.hostile}`);
  const text = await watched.page.textContent('main');
  assert.ok(text.includes('<script>window.pwned = true</script>'), 'the script is shown as text');
  assert.ok(text.includes('U+202E') && !text.includes('\u202e'), 'a bidirectional mark is shown by its name');
  assert.ok(text.includes('ESC') && !text.includes('\u001b'), 'an escape is shown by its name');
  assert.ok(text.includes('12345678901234567890'), 'a number beyond 2^53 is not rounded');
  assert.equal(await watched.page.locator('main b:text-is("hostile"), main img, main script').count(), 0);
  await watched.page.click('button:has-text("more characters")');
  await watched.quiet('hostile payload');
  for (const route of ['executions', 'executions?cols=task,queue,input,tags,metadata', 'queues', `queues/${encodeURIComponent('<i>idle</i>')}`, `executions?queue=${encodeURIComponent('<script>window.pwned = true</script>')}`]) {
    await watched.go(route);
    await watched.quiet(route);
  }
  await watched.close();
});

test('deep JSON opens level by level', async () => {
  const watched = await Watched.open(context, world);
  await watched.go(`executions/${world.deep}`);
  for (let level = 0; level < 10; level++) await watched.page.locator('.json-fold[aria-expanded="false"]').first().click();
  await watched.quiet('deep JSON');
  await watched.close();
});

test('an address shows a colleague the same: filters, columns, choices', async () => {
  const watched = await Watched.open(context, world);
  await watched.go('executions');
  await watched.page.fill('input[type=search]', 'status:completed queue:payments tag:shop');
  await watched.page.keyboard.press('Enter');
  await watched.page.waitForSelector('.chip');
  const url = new URL(watched.page.url());
  assert.equal(url.searchParams.get('status'), 'completed');
  assert.equal(url.searchParams.get('queue'), 'payments');
  await watched.page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 29);
  const other = await Watched.open(context, world);
  await other.go(url.pathname.slice(1) + url.search);
  await other.page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 29);
  await other.quiet('the same address');
  await other.close();
  await watched.close();
});

test('an unknown page and an unknown execution say what to do', async () => {
  const watched = await Watched.open(context, world);
  watched.expected = /404/;
  await watched.go('executions/01a1f5ab-0000-7000-8000-000000000000', '.note-error');
  assert.match(await watched.page.textContent('main'), /retention|namespace/);
  await watched.quiet('unknown execution');
  await watched.close();
});

test('the first picture is there within a second', async () => {
  const watched = await Watched.open(context, world);
  await watched.go('executions', 'tbody tr');
  const begun = Date.now();
  await watched.page.goto(`${world.url}/executions`);
  await watched.page.waitForSelector('main tbody tr');
  const took = Date.now() - begun;
  // A machine that runs other tests beside is given three times as long.
  assert.ok(took < 3000, `it took ${took} ms`);
  const bytes = await watched.page.evaluate(() => performance.getEntriesByType('resource').filter((each) => each.name.includes('/assets/')).reduce((sum, each) => sum + each.encodedBodySize, 0));
  assert.ok(bytes < 150 * 1024, `${bytes} bytes of files`);
  await watched.close();
});
