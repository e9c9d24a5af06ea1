// Chromium, and pages that must stay quiet: no console error, no exception, no report of the content security policy, no
// request to another host, and no script of a payload that ran.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { need } from './_world.mjs';

const executable = process.env.HAPAX_CHROMIUM ?? '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function openBrowser() {
  need(executable, 'Install Debian\'s package chromium, or name another Chromium in HAPAX_CHROMIUM.');
  return chromium.launchPersistentContext(mkdtempSync(path.join(process.cwd(), 'profile-')), {
    executablePath: executable,
    headless: true,
    viewport: { width: 1440, height: 900 },
    timezoneId: 'Europe/Zurich',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

export class Watched {
  static async open(context, world, options = {}) {
    const page = await context.newPage();
    const watched = new Watched(page, world);
    await page.addInitScript(() => {
      window.reports = [];
      document.addEventListener('securitypolicyviolation', (event) => window.reports.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
    await page.emulateMedia({ colorScheme: options.dark ? 'dark' : 'light' });
    if (options.width) await page.setViewportSize({ width: options.width, height: options.height ?? 780 });
    return watched;
  }

  constructor(page, world) {
    this.page = page;
    this.world = world;
    this.trouble = [];
    page.on('console', (message) => {
      if (message.type() === 'error' && !this.expected?.test(message.text())) this.trouble.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error) => this.trouble.push(`exception: ${error.stack ?? error.message}`));
    page.on('request', (request) => {
      if (!request.url().startsWith(world.url) && !request.url().startsWith('blob:')) this.trouble.push(`a request left the server: ${request.url()}`);
    });
  }

  async go(route, ready = 'h1') {
    await this.page.goto(`${this.world.url}/${route}`);
    await this.page.waitForSelector(`main ${ready}`);
    await this.settled();
  }

  // Until nothing says that it is loading.
  async settled() {
    await this.page.waitForFunction(() => !document.querySelector('.loading, .boot'));
  }

  async quiet(where) {
    const state = await this.page.evaluate(() => ({ reports: window.reports, pwned: window.pwned, over: document.documentElement.scrollWidth - innerWidth }));
    assert.deepEqual(this.trouble, [], where);
    assert.deepEqual(state.reports, [], `${where}: reports of the content security policy`);
    assert.equal(state.pwned, undefined, `${where}: a payload's script ran`);
    assert.ok(state.over <= 0, `${where}: the page is ${state.over} px wider than the window`);
  }

  // Nothing serious or critical by axe. The script is evaluated by the driver, which the page's policy does not bind.
  async accessible(where) {
    await this.page.evaluate(axe);
    const found = await this.page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
    const serious = found.violations.filter((each) => each.impact === 'serious' || each.impact === 'critical');
    assert.deepEqual(serious.map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary ?? ''}`).join(' | ')}`), [], where);
  }

  async shot(name) {
    if (!process.env.HAPAX_SCREENSHOTS) return;
    await this.page.waitForTimeout(600);
    await this.page.screenshot({ path: path.join(process.env.HAPAX_SCREENSHOTS, `${name}.png`) });
  }

  close() {
    return this.page.close();
  }
}
