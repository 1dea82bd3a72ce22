// Works with the console in Chromium, as a person does. Its argument says where the gateway is, how picoclaw is run, and
// where pictures of pages go, if they are asked for.
import { chromium } from 'playwright-core';
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { readFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const around = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(path.resolve('package.json')).resolve('axe-core/axe.min.js'), 'utf8');
const options = { env: around.env, cwd: around.workspace };
const picoclaw = async (...args) => (await promisify(execFile)(around.program, args, options)).stdout.trim();

let failures = 0, what = '';
const check = (ok, text) => {
  if (!ok) failures++;
  console.log(`${ok ? 'ok' : 'FAILED'}: ${text}`);
};
// until waits for what comes by itself; the deadline is for what never comes.
const until = async (text, is) => {
  for (const end = Date.now() + 30000; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
    if (await is()) return check(true, text);
  }
  check(false, text);
};

// reads waits until a page, which may be on its way, has words in its main part.
const reads = (text, page, words) =>
  until(text, async () => (await page.locator('main').innerText()).includes(words));

const browser = await chromium.launch({ executablePath: around.browser, args: ['--no-sandbox'] });

// open opens a session in a browser of its own, whose complaints count as failures.
const open = async (flags = [], settings = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
  const page = await context.newPage();
  page.on('console', (m) => m.type() === 'error' && !page.expectsErrors && check(false, `${what}: the browser says ${m.text()}`));
  page.on('pageerror', (e) => check(false, `${what}: ${e}`));
  page.on('dialog', (d) => { check(false, `${what}: a dialog`); d.dismiss(); });
  const link = await picoclaw('console', ...flags);
  what = 'login';
  await page.goto(link);
  await page.getByRole('button', { name: 'Open the console' }).click();
  await page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
  return { context, page, link };
};

const unharmed = async (page) => check(await page.evaluate(() => window.xss === undefined), `${what}: nothing of others' runs`);

// examine looks at a page in light and dark, wide and on a phone.
const examine = async (page, name) => {
  what = name;
  await unharmed(page);
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    // What differs in the dark are colours.
    const rules = colorScheme === 'light' ? {} : { runOnly: { type: 'rule', values: ['color-contrast'] } };
    const found = await page.evaluate(async (options) => (await window.axe.run(options)).violations
      .filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`), rules);
    check(found.length === 0, `${name}, ${colorScheme}: axe finds ${found.join('; ') || 'nothing serious'}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (around.pictures && !['output', 'undo', 'agent', 'examined'].includes(name)) {
    await page.setViewportSize({ width: 1120, height: 640 });
    await page.screenshot({ path: path.join(around.pictures, `console-${name}.png`) });
  }
  await page.setViewportSize({ width: 360, height: 740 });
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(beyond <= 0, `${name}: a phone shows all of its width (${beyond})`);
  if (around.pictures && name === 'approvals') {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: path.join(around.pictures, 'console-phone.png') });
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
};

try {
  const { page, link } = await open(['--operate']);
  const at = (name) => page.url().replace(/[^/]*$/, name);

  // Each page that the navigation names, whichever those are.
  const pages = await page.$$eval('nav a', (all) => all.map((a) => a.getAttribute('href')));
  check(pages.includes('calls') && pages.includes('approvals'), `pages: ${pages}`);
  for (const name of pages.filter((p) => p !== 'approvals')) {
    what = name;
    const response = await page.goto(at(name));
    check(response.status() === 200, `${name}: ${response.status()}`);
    if (!around.pictures && ['calls', 'agents', 'plugins', 'schedule', 'audit'].includes(name)) {
      check((await page.locator('main').innerText()).includes('<img src=x'), `${name}: what is hostile is there, as text`);
    }
    await examine(page, name);
  }

  // By keyboard: the first thing is the way past the navigation.
  what = 'keyboard';
  await page.goto(at('calls'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  check(await page.evaluate(() => document.activeElement.id === 'main'), 'keyboard: the skip link leads to the page');

  // A call that waits is seen while the page is open, and goes on when it is allowed.
  what = 'approvals';
  await page.goto(at('approvals'));
  const asked = spawn(around.program, ['call', 'exec', 'command=touch made "<b onmouseover=alert(1)>"'], options);
  const ended = new Promise((r) => asked.on('exit', r));
  const article = page.locator('article').filter({ hasText: 'onmouseover' });
  await article.waitFor();
  check(await page.locator('[data-waiting]').innerText() === '1', 'approvals: the navigation counts it');
  check((await article.innerText()).includes('touch made \\"<b onmouseover=alert(1)>\\"'), 'approvals: the exact arguments are there');
  await examine(page, 'approvals');
  await article.hover();
  const next = spawn(around.program, ['call', 'exec', 'command=touch made next'], options);
  const noTo = new Promise((r) => next.on('exit', r));
  await page.getByText('The list has changed; reload the page').waitFor();
  check(await page.locator('article').count() === 1, 'approvals: no button comes to be below the mouse');
  await page.locator('h1').hover();
  const other = page.locator('article').filter({ hasText: 'touch made next' });
  await other.getByRole('button', { name: 'Deny' }).click();
  check(await noTo !== 0, 'approvals: a call is refused');
  await article.getByRole('button', { name: 'Approve once' }).click();
  check(await ended === 0, 'approvals: the call goes on');
  check(existsSync(path.join(around.workspace, 'made')), 'approvals: it has done what it was asked for');
  const record = JSON.parse(await picoclaw('audit', '--tool', 'exec', '--limit', '1', '--output', 'json'));
  check(record.approval?.way === 'console' && record.approval.by !== '', `approvals: the record says ${JSON.stringify(record.approval)}`);

  // A call, its output, and undo of its file changes.
  what = 'call';
  await page.goto(at('calls?tool=write_file'));
  await page.getByRole('row').filter({ hasText: '<img src=x' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: 'File changes' }).waitFor();
  check((await page.locator('main').innerText()).includes(around.hostileName), 'call: its arguments are there');
  await examine(page, 'call');
  const file = path.join(around.workspace, around.hostileName);
  check(existsSync(file), 'undo: the file is there before');
  await page.getByRole('link', { name: 'Undo' }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  check(existsSync(file), 'undo: nothing is done before it is confirmed');
  await examine(page, 'undo');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('status').filter({ hasText: 'was undone' }).waitFor();
  check(!existsSync(file), 'undo: the file is gone after');
  what = 'output';
  await page.goto(at('calls?tool=exec&outcome=ok'));
  await page.getByRole('row').filter({ hasText: 'printf' }).getByRole('link').first().click();
  await reads('output: it is shown as it is', page, '<script>window.xss=1</script>');
  check(!(await page.locator('main').innerText()).includes('hunter2'), 'output: no secrets are');
  await examine(page, 'output');

  // A tool of an agent's, off and on; an agent, stopped and started.
  what = 'agents';
  const has = async (tool) => JSON.parse(await picoclaw('tools', '--agent', 'reader', '--output', 'json')).some((t) => t.name === tool);
  await page.goto(at('agent?id=reader'));
  await examine(page, 'agent');
  await page.getByRole('button', { name: 'Disable exec' }).click();
  await page.getByRole('button', { name: 'Enable exec' }).waitFor();
  check(!await has('exec'), 'agents: a tool that was switched off is off');
  await page.getByRole('button', { name: 'Enable exec' }).click();
  await page.getByRole('button', { name: 'Disable exec' }).waitFor();
  check(await has('exec'), 'agents: and on again');
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('button', { name: 'Stop main' }).click();
  await page.getByRole('button', { name: 'Resume main' }).waitFor();
  const refused = await picoclaw('call', 'list_dir').catch((e) => e.stderr);
  check(refused.includes('agent main is stopped'), `agents: one that was stopped does nothing: ${refused}`);
  await page.getByRole('button', { name: 'Resume main' }).click();
  await page.getByRole('button', { name: 'Stop main' }).waitFor();
  await picoclaw('call', 'list_dir');

  // Walls, and the record's chain.
  what = 'doctor';
  await page.goto(at('doctor'));
  await page.getByRole('button', { name: 'Check the protections of main' }).click();
  await page.getByRole('rowheader', { name: 'sandbox', exact: true }).waitFor();
  await examine(page, 'examined');
  what = 'audit';
  await page.goto(at('audit'));
  await page.getByLabel('Text').fill('onerror');
  await page.getByLabel('refused').check();
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('link', { name: 'Show all' }).waitFor();
  check((await page.locator('tbody tr').allInnerTexts()).every((t) => t.includes('refused')), 'audit: it is searched');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'csv' }).click()]);
  check(readFileSync(await download.path(), 'utf8').includes('exec.'), 'audit: what was found is exported');
  await page.getByRole('button', { name: 'Verify the chain' }).click();
  await page.getByRole('status').filter({ hasText: 'The chain is valid' }).waitFor();

  // A hundred calls a second.
  what = 'live';
  await page.goto(at('calls'));
  await page.waitForFunction(() => document.documentElement.hasAttribute('data-live'));
  const batch = spawn(around.program, ['batch'], options);
  batch.stdout.resume();
  const done = new Promise((r) => batch.on('exit', r));
  let sent = 0;
  await new Promise((resolve) => {
    const tick = setInterval(() => {
      for (let i = 0; i < 10; i++) batch.stdin.write(JSON.stringify({ id: sent, tool: 'list_dir', args: { path: `live-${sent++}` } }) + '\n');
      if (sent < 500) return;
      clearInterval(tick);
      batch.stdin.end();
      resolve();
    }, 100);
  });
  await done;
  await until('live: the last call is there', () => page.evaluate((n) => document.querySelector('tbody').textContent.includes(`live-${n}"`), sent - 1));
  check(await page.$$eval('tbody tr', (all) => all.length) === 200, 'live: the rows are bounded');
  const times = await page.$$eval('tbody time', (all) => all.map((t) => t.dateTime));
  check(times.every((t, i) => i === 0 || Date.parse(t) <= Date.parse(times[i - 1]) + 50), 'live: the newest is the first');
  await unharmed(page);

  // Who may only look can't act, whatever they send; and a form of another session is none of this one's.
  what = 'read-only';
  const reader = await open();
  reader.page.expectsErrors = true;
  const answers = await reader.page.evaluate(async () => {
    const csrf = document.querySelector('[name=csrf]').value;
    const send = async (to, fields) => (await fetch(to, { method: 'POST', body: new URLSearchParams(fields) })).status;
    return [await send('undo', { csrf, agent: 'main', id: 'x' }), await send('approvals', { csrf, id: 'x' }),
      await send('logout', { csrf: 'x' }), (await fetch('undo?agent=main&id=x')).status];
  });
  check(answers.join() === '403,403,403,403', `read-only: ${answers}`);
  const plain = await open([], { javaScriptEnabled: false });
  check(await plain.page.locator('tbody tr').count() === 200, 'without a script: the calls are there');
  await plain.page.getByLabel('Tool').fill('write_file');
  await plain.page.getByRole('button', { name: 'Show' }).click();
  await plain.page.getByRole('row').filter({ hasText: '<img src=x' }).getByRole('link').first().click();
  await reads('without a script: so is one of them', plain.page, 'picoclaw console --operate');
  const stolen = await reader.page.goto(at('calls'));
  check(stolen.status() === 401, `another session's page: ${stolen.status()}`);
  page.expectsErrors = true;
  await page.goto(link);
  await page.getByRole('button', { name: 'Open the console' }).click();
  await reads('login: a link works once', page, 'This link was used');
  await page.goBack();
  await page.goBack();
  await page.getByRole('button', { name: 'Log out' }).click();
  await reads('logout: the session is over', page, 'no session');
} catch (e) {
  check(false, `${what}: ${e.stack}`);
} finally {
  await browser.close();
}
console.log('the browser is done');
process.exit(failures ? 1 : 0);
