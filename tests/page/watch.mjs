// The live page in a real browser: node watch.mjs BUILD_FOLDER. Starts a run, watches it, moves sliders, stops it.
// Prints 'skipped: no ...' if there is no browser or the page was not built.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { blockMaxima } from '../../share/viewer/src/projection.js';
import { build, captionSays, complaints, folder, imageNumber, open, startWatched } from './browser.mjs';

const pipeline = `
pipeline: watched
gadgets:
  sphere: {use: moving_sphere}
  file:   {use: nifti_writer, from: sphere}
  page:   {use: web_monitor, from: sphere, edge: {policy: drop_oldest}, address: "127.0.0.1:0"}
`;

// Mean and standard deviation of an element's grey levels, as they are on the screen.
async function levels(page, selector) {
  const png = (await page.locator(selector).screenshot()).toString('base64');
  return page.evaluate(async (data) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    const { data: rgba } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    let sum = 0, squares = 0;
    for (let i = 0; i < rgba.length; i += 4) {
      const grey = (rgba[i] + rgba[i + 1] + rgba[i + 2]) / 3;
      sum += grey;
      squares += grey * grey;
    }
    const mean = sum / (rgba.length / 4);
    return { mean, deviation: Math.sqrt(Math.max(0, squares / (rgba.length / 4) - mean * mean)) };
  }, png);
}

async function watchesTheEstimate(page) {
  await captionSays(page, 'live: iteration');
  const first = await imageNumber(page);
  const before = await levels(page, '#slices-canvas');
  assert(before.deviation > 5, `the slices are blank: ${JSON.stringify(before)}`);
  assert((await levels(page, '#projection')).deviation > 5, 'the projection is blank');
  await page.waitForFunction((number) => Number(document.querySelector('#caption').dataset.number) > number + 3, first);
  const after = await levels(page, '#slices-canvas');
  assert(Math.abs(after.mean - before.mean) + Math.abs(after.deviation - before.deviation) > 0.01, 'the slices do not change');
  assert.equal(await page.locator('#phase').textContent(), 'running');
  assert.match(await page.locator('#numbers').textContent(), /Received\d/);
  assert.equal(await page.locator('#graph .node').count(), 3);
  assert.equal(await page.locator('#graph .edge').count(), 2);
  assert(await page.locator('#plot .curve').count() === 3, 'the count rate is not drawn');
}

async function changesTheView(page) {
  const before = await levels(page, '#slices-canvas');
  await page.locator('#colours').selectOption('inferno');
  await page.waitForTimeout(200);
  assert(Math.abs((await levels(page, '#slices-canvas')).mean - before.mean) > 5, 'the colours do not change');
  const bright = await levels(page, '#slices-canvas');
  await page.locator('#high').fill('20');
  await page.waitForTimeout(200);
  assert((await levels(page, '#slices-canvas')).mean > bright.mean + 5, 'the window does nothing');
  await page.locator('#high').fill('100');
}

// The patient's sides stand whole on all four sides of each view; the crosshair leaves its point free, and can go.
async function marksSidesAndPoint(page) {
  const marks = await page.evaluate(() => {
    const box = (element) => (({ left, top, right, bottom }) => ({ left, top, right, bottom }))(element.getBoundingClientRect());
    return {
      views: box(document.querySelector('#views')), projection: box(document.querySelector('#projection')),
      letters: [...document.querySelectorAll('#views .letter')].map((e) => ({ of: e.parentElement.dataset.of, text: e.textContent, ...box(e) })),
      cross: [...document.querySelectorAll('#views .cross[data-of=coronal] line')].map((e) => ['x1', 'y1', 'x2', 'y2'].map((key) => Number(e.getAttribute(key)))),
    };
  });
  const of = (name) => marks.letters.filter((letter) => letter.of === name).map((letter) => letter.text).join('');
  assert.deepEqual([of('transverse'), of('coronal'), of('sagittal'), of('projection')], ['RLAP', 'RLSI', 'APSI', 'RLSI']);
  for (const letter of marks.letters)
    assert(letter.left >= marks.views.left && letter.right <= marks.views.right && letter.top >= marks.views.top && letter.bottom <= marks.views.bottom,
      `the letter ${letter.text} of ${letter.of} is cut`);
  for (const letter of marks.letters.filter(({ of, text }) => of === 'projection' && 'SI'.includes(text)))
    assert(letter.right < marks.projection.left + 0.25 * (marks.projection.right - marks.projection.left), `${letter.text} lies over the projection`);
  assert.equal(marks.cross.length, 4);
  const point = [marks.cross.find((line) => line[0] === line[2])[0], marks.cross.find((line) => line[1] === line[3])[1]];
  for (const [x1, y1, x2, y2] of marks.cross) {
    const near = Math.min(Math.hypot(x1 - point[0], y1 - point[1]), Math.hypot(x2 - point[0], y2 - point[1]));
    assert(near >= 14, `the crosshair comes within ${near} pixels of its point`);
  }
  const [first, second] = [marks.cross[0], marks.cross[1]];
  const slice = second[2] - first[0]; // from the left edge to the right one
  const wide = marks.projection.right - marks.projection.left;
  assert(Math.abs(wide - slice) < 2, `the projection is ${wide} pixels wide, the coronal slice ${slice}`);
  await page.locator('#crosshair').uncheck();
  assert.equal(await page.locator('#views .cross').count(), 0);
  await page.locator('#crosshair').check();
  assert.doesNotMatch(await page.locator('.scale').textContent(), /e[+-]/);
}

// The projection leaves out a twentieth of the slices at either end, of a finer image as many of its samples.
function leavesOutTheEnds() {
  const slices = (maxima) => Array.from({ length: maxima.size[2] }, (_, k) => maxima.values[k * maxima.size[0] * maxima.size[1]]);
  const estimate = (n) => ({ size: [2, 2, n], voxelMm: [1, 1, 1], codes: new Uint16Array(4 * n).fill(7) });
  assert.deepEqual(slices(blockMaxima(estimate(45))), [0, 0, ...Array(41).fill(7), 0, 0]);
  assert.deepEqual(slices(blockMaxima(estimate(5))), Array(5).fill(7));
  assert.deepEqual(slices(blockMaxima(estimate(240))), [...Array(4).fill(0), ...Array(72).fill(7), ...Array(4).fill(0)]); // 3 slices in one
}

async function looksBack(page) {
  await page.locator('#time').focus();
  await page.keyboard.press('Home');
  await captionSays(page, 'past: iteration 1, update 1,');
  const old = await imageNumber(page);
  await page.waitForTimeout(300);
  assert.equal(await imageNumber(page), old, 'a past estimate does not stay');
  await page.locator('#live').click();
  await captionSays(page, 'live:');
}

async function setsAParameter(page) {
  const row = page.locator('[data-parameter="page.frames_per_s"]');
  await row.locator('input[type="range"]').focus();
  await page.keyboard.press('End');
  await page.locator('#colours').focus(); // moves the focus away, so that the program's value is shown
  await page.waitForFunction(() => document.querySelector('[data-parameter="page.frames_per_s"] input').value === '60');
  const field = row.locator('input[type="number"]');
  await field.fill('600');
  await field.press('Enter');
  await page.waitForFunction(() => document.querySelector('.wrong').textContent.includes('frames_per_s'));
  await page.locator('#colours').focus();
  await page.waitForFunction(() => document.querySelector('[data-parameter="page.frames_per_s"] input').value === '60');
  assert.equal(await row.locator('.wrong').textContent(), '', 'the refusal stays when the value is good again');
  await page.reload();
  await captionSays(page, 'live:');
  assert.equal(await field.inputValue(), '60');
}

// The page served is the one installed: it has the full licence of each package of which it contains a part.
async function carriesLicences(url) {
  const text = await (await fetch(`${url}licences.txt`)).text();
  const packages = text.split(/^(?=@?[a-z][^\s]* \d+\.\d+\.\d+: .+$)/m).slice(1);
  const niivue = packages.find((part) => part.startsWith('@niivue/niivue '));
  assert(niivue, text);
  for (const words of ['BSD-2-Clause', 'Copyright (c) 2021 Niivue', 'Redistributions in binary form must', 'IN NO EVENT SHALL'])
    assert(niivue.includes(words), `NiiVue's licence lacks '${words}'`);
  for (const part of packages) assert(part.length > 500 && /copyright/i.test(part), `no licence of ${part}`);
}

// Every control has a name, and the tab key reaches the first ones in reading order.
async function isForKeyboards(page) {
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, canvas[tabindex]')]
    .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).map((e) => e.id || e.outerHTML));
  assert.deepEqual(nameless, []);
  await page.evaluate(() => document.activeElement.blur());
  const order = [];
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press('Tab');
    order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.className));
  }
  assert.deepEqual(order, ['skip', 'stop', 'slices-canvas', 'time']);
}

async function stops(page, run) {
  await page.locator('#stop').click();
  assert(await page.locator('#confirm').evaluate((dialog) => dialog.open), 'nobody asks before the run is stopped');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#phase').textContent(), 'running');
  await page.locator('#stop').click();
  await page.locator('#stop-now').click();
  await page.waitForFunction(() => document.querySelector('#phase').textContent === 'stopped');
  await captionSays(page, 'final:');
  assert.equal(await run.ended, 0, run.said());
  await page.waitForTimeout(300);
  assert.equal(await page.locator('#notice').isHidden(), true, 'a run that has ended is no lost connection');
  const left = await page.locator('#files').textContent();
  assert(left.includes(path.join(folder, 'image.nii.gz')) && left.includes(path.join(folder, 'report.html')), left);
}

const softwareGl = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
writeFileSync(path.join(folder, 'watched.yaml'), pipeline);
const plugins = path.join(build, 'lib', 'test_page_plugins');
const run = await startWatched(['run', path.join(folder, 'watched.yaml'), '--plugins', plugins, '--out', folder, '--quiet']);
const browsers = [];
try {
  const desktop = await open(run.url, softwareGl, { width: 1000, height: 700 });
  browsers.push(desktop.browser);
  await carriesLicences(run.url);
  await watchesTheEstimate(desktop.page);
  await isForKeyboards(desktop.page);
  leavesOutTheEnds();
  await marksSidesAndPoint(desktop.page);
  await changesTheView(desktop.page);
  await looksBack(desktop.page);
  await setsAParameter(desktop.page);

  const phone = await open(run.url, ['--disable-3d-apis'], { width: 390, height: 844 }); // no WebGL2 either
  browsers.push(phone.browser);
  await captionSays(phone.page, 'live: iteration');
  assert((await levels(phone.page, '#slices-canvas')).deviation > 5, 'without WebGL2 the slices are blank');
  assert(await phone.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than a phone');
  const fold = await phone.page.evaluate(() => Math.max(...['#numbers', '#views'].map((id) => document.querySelector(id).getBoundingClientRect().bottom)));
  assert(fold <= 844, `counts and image end ${fold} pixels down a phone`);

  await stops(desktop.page, run);
  const report = JSON.parse(readFileSync(path.join(folder, 'run.json'), 'utf8'));
  assert.equal(report.stopped, true);
  assert(report.parameter_changes.some((change) => change.parameter === 'frames_per_s' && change.value === 60));
  assert(report.gadgets.page.figures.images_shown > 0);
  assert(existsSync(path.join(folder, 'image.nii.gz')));
  assert.deepEqual(complaints, []);
  console.log('the page shows, steers and stops a run');
} finally {
  run.run.kill('SIGKILL');
  await Promise.all(browsers.map((browser) => browser.close()));
  rmSync(folder, { recursive: true, force: true });
}
// SPDX-License-Identifier: Apache-2.0
