// What the browser's tests share: the program beside them, and a page of it in headless Chromium.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

export const build = path.resolve(process.argv[2]);

function skip(why) {
  console.log(`skipped: no ${why}`);
  process.exit(0);
}

function browserProgram() {
  const folders = (process.env.PATH ?? '').split(':');
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return process.env.CHROMIUM ?? names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(existsSync);
}

const executablePath = browserProgram() ?? skip('chromium');
const packages = path.join(build, 'viewer', 'node_modules', 'any.js');
if (!existsSync(path.join(build, 'share/tofstream/viewer/index.html'))) skip('live page');
const { chromium } = createRequire(packages)('playwright-core');

export const folder = mkdtempSync(path.join(os.tmpdir(), 'tofstream-page-'));

// The program, its output so far, and a promise of its exit code.
export function start(args) {
  const run = spawn(path.join(build, 'bin', 'tofstream'), args);
  let said = '';
  const hear = (piece) => (said += piece);
  run.stderr.on('data', hear);
  run.stdout.on('data', hear);
  return { run, ended: new Promise((resolve) => run.on('exit', (code) => resolve(code))), said: () => said };
}

// Like start, and waits for the page's address.
export async function startWatched(args) {
  const started = start(args);
  const url = await new Promise((resolve, reject) => {
    const look = () => {
      const found = started.said().match(/http:\/\/127\.0\.0\.1:\d+\//);
      if (found) resolve(found[0]);
    };
    started.run.stderr.on('data', look);
    started.run.stdout.on('data', look);
    started.ended.then((code) => reject(new Error(`the run ended with ${code}: ${started.said()}`)));
  });
  return { ...started, url };
}

// Errors in the browser's console, and requests to other hosts, are failures at the end.
export const complaints = [];

// `before` is called with the page while it is empty.
export async function open(url, more, viewport, before = () => {}) {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...more],
  });
  const page = await browser.newPage({ viewport, reducedMotion: 'reduce', colorScheme: 'light' });
  page.setDefaultTimeout(60000); // software draws in place of a GPU, on a busy machine
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('response', (response) => response.status() >= 400 && complaints.push(`${response.status()} of ${response.url()}`));
  page.on('request', (request) => /^https?:/.test(request.url()) && !request.url().startsWith(url) && complaints.push(`asked for ${request.url()}`));
  before(page);
  await page.goto(url);
  return { browser, page };
}

export const captionSays = (page, part) => page.waitForFunction((text) => document.querySelector('#caption').textContent.includes(text), part);
export const imageNumber = (page) => page.evaluate(() => Number(document.querySelector('#caption').dataset.number ?? 0));
// SPDX-License-Identifier: Apache-2.0
