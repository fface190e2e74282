// A live scan in a real browser: node live_scan.mjs BUILD_FOLDER. simulate_live sends, live_osem_page reconstructs and
// shows, the page stops it: the last image sent to the browser is the image that was written.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseEstimate } from '../../share/viewer/src/estimate.js';
import { build, captionSays, complaints, folder, open, start, startWatched } from './browser.mjs';

const set = (values) => Object.entries(values).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
const out = path.join(folder, 'out');
const endpoint = `ipc://${path.join(folder, 'socket')}`;

const receive = () => startWatched(['run', 'live_osem_page', '--backend', 'cpu', '--quiet', '--out', out, ...set({
  'feed.endpoint': endpoint, 'page.address': '127.0.0.1:0', 'image.size': '[20,20,10]', 'image.voxel_mm': '[16,16,16]',
  'subsets.seconds': 0.5, 'subsets.least_events': 2000, 'subsets.iterations': 2, 'projected.sensitivity.cache': false,
  'projected.sensitivity.exact_pairs': 0, 'projected.sensitivity.sampled_pairs': 20000 })]);
// Longer than the test takes: the page ends it.
const send = () => start(['run', 'simulate_live', '--quiet', '--out', path.join(folder, 'sent'), ...set({
  endpoint, 'photons.seconds': 600, 'photons.activity_scale': 0.003, 'photons.batch_events': 1000 })]);

// The image's float32 voxels, x fastest.
function niftiVoxels(file) {
  const bytes = gunzipSync(readFileSync(file));
  const voxels = [42, 44, 46].reduce((product, at) => product * bytes.readInt16LE(at), 1);
  const begin = bytes.readFloatLE(108);
  return Float32Array.from({ length: voxels }, (_, k) => bytes.readFloatLE(begin + 4 * k));
}

const total = (estimate) => estimate.codes.reduce((sum, code) => sum + estimate.offset + estimate.scale * code, 0);

// One of the page's numbers, without its unit.
const number = (page, name) => page.evaluate((wanted) => {
  const row = [...document.querySelectorAll('#numbers div')].find((div) => div.querySelector('dt').textContent === wanted);
  return row?.querySelector('dd').textContent ?? '';
}, name);

const began = Date.now();
let run, sender, browser;
try {
  run = await receive();
  const estimates = [];
  const watched = await open(run.url, ['--disable-3d-apis'], { width: 900, height: 700 }, (page) => {
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => {
      if (typeof payload !== 'string') estimates.push(parseEstimate(Uint8Array.from(payload).buffer));
    }));
  });
  browser = watched.browser;
  const { page } = watched;

  await captionSays(page, `Waiting for a sender at ${endpoint}`);
  assert.equal(await page.locator('#phase').textContent(), 'waiting');
  assert.equal(await page.locator('#clock').textContent(), '', 'a scan that has not begun has no time');
  assert.equal(await page.locator('#views').isHidden(), true, 'an empty box stands for an image');
  assert.equal(await page.locator('#stop').isEnabled(), true, 'a run that waits cannot be stopped');
  const waited = Date.now() - began;
  sender = send();
  await captionSays(page, 'live: update');
  await page.waitForFunction(() => document.querySelector('#phase').textContent === 'running');
  const clock = await page.locator('#clock').textContent();
  const seconds = clock.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
  assert(seconds <= (Date.now() - began - waited) / 1000 + 1, `${clock} is not the scan's time`);
  assert.match(await page.locator('#scale-high').textContent(), /^[0-9][0-9,.]* Bq\/mL$/);
  assert.match(await page.locator('#point').textContent(), /^At the crosshair, \(-?\d+, -?\d+, -?\d+\) mm: [0-9].* Bq\/mL$/);
  const first = estimates.at(-1);
  await page.waitForFunction((before) => Number(document.querySelector('#caption').dataset.number) > before, first.number);
  while (estimates.at(-1).endEvent <= first.endEvent) await page.waitForTimeout(50);
  const grown = estimates.at(-1);
  assert(total(grown) > 0, 'the image is empty');
  await page.waitForFunction(() => /Rate\s*[1-9]/.test(document.querySelector('#numbers').textContent));
  assert.equal(await number(page, 'Lost'), '0');

  await page.locator('#stop').click();
  await page.locator('#stop-now').click();
  await captionSays(page, 'final:');
  assert.equal(await run.ended, 0, run.said());
  const left = await page.locator('#files').textContent();
  assert.equal(left, `Image: ${path.join(out, 'image.nii.gz')}. Report: ${path.join(out, 'report.html')}`);
  assert.match(await page.locator('#numbers').textContent(), /Mean rate/, 'a scan that has ended has a rate');
  const last = estimates.at(-1);
  assert(last.isFinal, 'the last image is not said to be the final one');
  assert.equal(last.shrink, 1);
  const written = niftiVoxels(path.join(out, 'image.nii.gz'));
  assert.equal(written.length, last.codes.length);
  written.forEach((value, k) => {
    const shown = last.offset + last.scale * last.codes[k];
    assert(Math.abs(value - shown) <= 0.5001 * last.scale + 1e-6 * Math.abs(value), `voxel ${k}: ${value} was written, ${shown} shown`);
  });
  const report = JSON.parse(readFileSync(path.join(out, 'run.json'), 'utf8'));
  assert.equal(report.stopped, true);
  assert.equal(report.books.balanced, true);
  assert(report.gadgets.page.figures.images_shown > 0);
  assert.deepEqual(complaints, []);
  console.log('the page shows a live scan, and what it shows is what is written');
} finally {
  run?.run.kill('SIGKILL');
  sender?.run.kill('SIGKILL');
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}
// SPDX-License-Identifier: Apache-2.0
