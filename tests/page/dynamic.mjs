// Curves of a dynamic scan in a real browser: node dynamic.mjs BUILD_FOLDER [PICTURE]. simulate_live sends,
// live_dynamic_page reconstructs frames and measures regions: each frame adds a point, and in the end the page has as many
// as curves.csv has values.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build, complaints, folder, open, start, startWatched } from './browser.mjs';

const set = (values) => Object.entries(values).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
const out = path.join(folder, 'out');
const endpoint = `ipc://${path.join(folder, 'socket')}`;
const frames = 5;

const watched = await startWatched(['run', 'live_dynamic_page', '--backend', 'cpu', '--quiet', '--out', out, ...set({
  'feed.endpoint': endpoint, 'page.address': '127.0.0.1:0', image: '{size: [20, 20, 10], voxel_mm: 16}',
  'subsets.frames': `[${frames}x1]`, 'subsets.least_events': 500, 'curves.phantom': 'uniform_cylinder',
  'projected.sensitivity.cache': false, 'projected.sensitivity.exact_pairs': 0, 'projected.sensitivity.sampled_pairs': 20000 })]);
const { browser, page } = await open(watched.url, [], { width: 1280, height: 1000 });
const sent = start(['run', 'simulate_live', '--quiet', '--out', path.join(folder, 'sent'), ...set({
  endpoint, 'photons.phantom': 'uniform_cylinder', 'photons.seconds': frames + 0.5, 'photons.activity_scale': 0.003,
  'photons.batch_events': 500 })]);

assert(await page.locator('#regions').isHidden(), 'there are curves before any frame');
const points = (least) => page.waitForFunction((number) => document.querySelectorAll('#regions-plot circle').length >= number, least);
await points(2);
assert(await page.locator('#regions').isVisible());
await points(frames);
assert.match(await page.locator('#regions-title').textContent(), /^Regions over time/);
if (process.argv[3]) await page.screenshot({ path: process.argv[3], fullPage: true });
assert.equal(await watched.ended, 0, watched.said());
assert.equal(await sent.ended, 0, sent.said());

const [head, ...rows] = readFileSync(path.join(out, 'curves.csv'), 'utf8').trim().split('\n').map((line) => line.split(','));
assert.deepEqual(head.slice(0, 2), ['start_s', 'duration_s']);
assert.equal(rows.length, frames);
assert.equal(await page.locator('#regions-plot circle').count(), frames * (head.length - 2));
assert.equal(await page.locator('#regions-plot .curve').count(), head.length - 2);
const figures = JSON.parse(readFileSync(path.join(out, 'run.json'), 'utf8')).gadgets.curves.figures;
assert.deepEqual(figures.curve_time_s.map((t) => Number(t.toFixed(3))), [0.5, 1.5, 2.5, 3.5, 4.5]);
assert(rows.every((row, k) => Math.abs(Number(row[2]) / figures[`curve ${head[2]}`][k] - 1) < 1e-5));
await browser.close();
rmSync(folder, { recursive: true });
assert.deepEqual(complaints, []);
// SPDX-License-Identifier: Apache-2.0
