// A workflow's page: its waterfall, what it waits for, an entry's details, a query, and the signal that ends it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openBrowser, Watched } from './_browser.mjs';
import { World } from './_world.mjs';

let world;
let context;
let id;

before(async () => {
  world = new World();
  await world.serve();
  world.approvals();
  id = world.json('start', 'approve_expense', '--workflow-id', 'expense-7', '--input', '{"id":"7","amount":120,"patience":"1h"}').id;
  await world.until(async () => (await world.call('GET', `/v1/executions/${id}`)).waiting, 'the workflow to wait');
  context = await openBrowser();
});
after(async () => {
  await context?.close();
  world?.stop();
});

test('a waiting workflow shows what it waits for, answers a query, and goes on by a signal', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go(`executions/${id}`, '.waterfall');
  assert.match(await page.textContent('.workflow-head'), /waits for .*signal.*decision/);
  await page.click('.waterfall-row:has-text("send_mail")');
  await page.waitForSelector('.step:has-text("please decide")');
  assert.match(page.url(), /step=1/);
  await watched.quiet('waterfall');
  await watched.accessible('waterfall');
  await watched.shot('workflow');

  await page.click('button:has-text("Query")');
  await page.fill('dialog input', 'stage');
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('dialog .json:has-text("asked")', { timeout: 20_000 });
  await page.keyboard.press('Escape');

  await page.click('button:has-text("Send the signal")');
  assert.equal(await page.inputValue('dialog input'), 'decision');
  await page.fill('dialog textarea', '{"approved": true, "by": "ada"}');
  await page.click('dialog button[type=submit]');
  // The page follows by itself.
  await page.waitForSelector('.execution-head .is-completed', { timeout: 20_000 });
  assert.equal((await world.call('GET', `/v1/executions/${id}`)).result, 'approved by ada');
  await watched.quiet('a signal');
  await watched.close();
});

test('the journal is saved as a file, and a fork goes on from its middle', async () => {
  const watched = await Watched.open(context, world);
  const { page } = watched;
  await watched.go(`executions/${id}?step=2`, '.step');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('button:has-text("Save the journal")')]);
  assert.equal(download.suggestedFilename(), 'expense-7.journal.json');
  await page.click('.step button:has-text("Fork")');
  await page.fill('dialog input', 'expense-7-again');
  await page.click('dialog button[type=submit]');
  await page.waitForFunction((old) => !location.pathname.includes(old), id);
  await page.waitForSelector('.execution-head:has-text("expense-7-again")');
  await watched.quiet('a fork');
  await watched.close();
});
