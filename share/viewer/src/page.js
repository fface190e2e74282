// The live page: what comes from the program goes into the views; what the reader does goes into the views or back.
import { colourNames, colourTable } from './colours.js';
import { Connection } from './connection.js';
import { parseEstimate, robustMaximum } from './estimate.js';
import { Graph } from './graph.js';
import { showGadgets, showNumbers } from './figures.js';
import { layOut } from './layout.js';
import { count, duration, html, quantity } from './numbers.js';
import { Overlay, sideAt } from './overlay.js';
import { Parameters } from './parameters.js';
import { Past } from './past.js';
import { drawCounts, drawRegions, regionCurves } from './plot.js';
import { Projection } from './projection.js';
import { makeSlices } from './slices.js';

const $ = (id) => document.getElementById(id);
const prefers = (what) => window.matchMedia(`(${what})`).matches;

const view = { colours: prefers('prefers-color-scheme: dark') ? 'hot' : 'inverted grey', low: 0, high: 100, held: null };
view.table = colourTable(view.colours);
let hello = null;
let states = []; // the last few, of which rates are made
let samples = [];
let ended = false;
let newest = null; // the live estimate
let shown = null; // what is looked at: that, or a past one
let due = { image: false, projection: false };

const past = new Past();
const projection = new Projection($('projection'));
const graph = new Graph($('graph'));
const overlay = new Overlay($('views'));
const slices = await makeSlices($('slices'), view.table, () => drawOver());
let laid = null; // where slices and projection lie, and of which image in which room

// The window in the image's units: of its robust maximum, or as it was held.
function windowOf(estimate) {
  const maximum = view.held ?? robustMaximum(estimate);
  return [(maximum * view.low) / 100, Math.max((maximum * view.high) / 100, 1e-30)];
}

function look(estimate) {
  shown = estimate;
  for (const part of document.querySelectorAll('.of-image')) part.hidden = false;
  projection.show(estimate);
  due = { image: true, projection: true };
}

// Anew where the image's edges or the page's width have changed.
function place(estimate) {
  const mm = estimate.size.map((n, k) => n * estimate.voxelMm[k]);
  const width = $('views').clientWidth;
  const most = Math.max(260, Math.min(0.66 * window.innerHeight, 900));
  const key = JSON.stringify([mm, width, most]);
  if (laid?.key === key) return;
  laid = { key, width, mm, ...layOut(mm, [width, most]) };
  $('views').style.height = `${laid.height}px`;
  projection.place(laid.tiles.projection);
}

// The crosshair, the patient's sides, and the value at the point.
function drawOver() {
  if (!shown || !laid) return;
  const point = slices.point;
  const pixelsAMm = laid.tiles.coronal[2] / laid.mm[0];
  overlay.draw(laid.tiles, point, pixelsAMm * Math.max(...shown.voxelMm), projection.degrees);
  const voxel = point.map((share, k) => Math.min(Math.max(Math.floor(share * shown.size[k]), 0), shown.size[k] - 1));
  const [i, j, k] = voxel;
  const value = shown.offset + shown.scale * shown.codes[(k * shown.size[1] + j) * shown.size[0] + i];
  const mm = voxel.map((n, axis) => Math.round(shown.originMm[axis] + n * shown.voxelMm[axis]));
  $('point').textContent = `At the crosshair, (${mm.join(', ')}) mm: ${`${quantity(value)} ${shown.unit}`.trim()}`;
}

function redraw() {
  if (shown) due = { image: true, projection: true };
}

function describe(estimate) {
  const step = estimate.iteration > 0 ? `iteration ${estimate.iteration}, update ${estimate.subset}` : `update ${estimate.subset}`;
  const of = estimate.shrink > 1 ? `, ${estimate.shrink}³ voxels averaged` : '';
  const filtered = estimate.filtered === '' ? '' : `, ${estimate.filtered}`;
  const [x, y, z] = estimate.size;
  const when = estimate === newest ? (estimate.isFinal ? 'final' : 'live') : 'past';
  $('caption').textContent = `${when}: ${step}, after ${duration(estimate.seconds)}, ${count(estimate.endEvent)} events; ${x}\u00a0×\u00a0${y}\u00a0×\u00a0${z}${of}${filtered}`;
  $('caption').dataset.number = estimate.number;
  $('mark').hidden = estimate.notQuantitative === '';
  $('mark').textContent = `Not quantitative: ${estimate.notQuantitative}`;
}

function showScale(low, high, unit) {
  const context = $('scale').getContext('2d');
  context.putImageData(new ImageData(view.table.slice(), 256, 1), 0, 0);
  $('scale-low').textContent = quantity(low);
  $('scale-middle').textContent = quantity((low + high) / 2);
  $('scale-high').textContent = `${quantity(high)} ${unit}`.trim();
  $('low-text').textContent = `${view.low} %`;
  $('high-text').textContent = `${view.high} %`;
}

let isDrawing = false;
async function draw() {
  if (due.image && shown && !isDrawing) {
    due.image = false;
    isDrawing = true;
    const estimate = shown;
    const [low, high] = windowOf(estimate);
    try {
      place(estimate);
      await slices.draw(estimate, view.colours, view.table, low, high, laid.tiles, laid.width, laid.height);
      drawOver();
    } catch (error) {
      notice(`The slices cannot be drawn: ${error.message}`);
    }
    isDrawing = false;
    describe(estimate);
    showScale(low, high, estimate.unit);
    if (estimate === newest && !estimate.isTold) connection.tell({ type: 'shown', number: estimate.number });
    estimate.isTold = true;
  }
  if (due.projection && shown) {
    due.projection = false;
    projection.draw(view.table, ...windowOf(shown));
  }
  requestAnimationFrame(draw);
}

function notice(text) {
  $('notice').hidden = text === '';
  $('notice').textContent = text;
}

function showPhase(phase) {
  $('phase').textContent = phase;
  $('phase').dataset.phase = phase;
  $('stop').disabled = (phase !== 'running' && phase !== 'waiting') || !hello?.steering;
}

// What the run waits for; and before the first image the same, in its place.
function showWaiting(message) {
  const lines = message.waiting.map((wait) => wait.what);
  const isBefore = message.phase === 'waiting';
  $('waiting').hidden = lines.length === 0 || isBefore;
  $('waiting').textContent = lines.join('; ');
  if (!shown) $('caption').textContent = isBefore ? lines.join('; ').replace(/^./, (c) => c.toUpperCase()) : 'No estimate yet.';
}

// Curves of regions, where a gadget measures them.
function showRegions(message) {
  const found = regionCurves(message);
  $('regions').hidden = found === null;
  if (found === null) return;
  $('regions-title').textContent = found.unit ? `Regions over time, ${found.unit}` : 'Regions over time';
  drawRegions($('regions-plot'), found);
}

// Where the run's files are, once no other estimate comes.
function showFiles(message) {
  $('files').hidden = !message.ended || message.files.length === 0;
  if ($('files').hidden) return;
  const path = (name) => (message.folder ? `${message.folder}/${name}` : name);
  const of = (wanted) => message.files.filter((name) => wanted.test(name)).map(path);
  const [images, reports] = [of(/\.(nii|nii\.gz)$/), of(/^report\.html$/)];
  const parts = [];
  if (images.length > 0) parts.push(`Image: ${images.join(', ')}`);
  if (reports.length > 0) parts.push(`Report: ${reports.join(', ')}`);
  $('files').textContent = parts.length > 0 ? parts.join('. ') : `Files: ${message.files.map(path).join(', ')}`;
}

function showTime() {
  const entries = past.entries;
  const slider = $('time');
  slider.max = entries.length;
  slider.disabled = entries.length === 0;
  if (past.isLive) slider.value = entries.length;
  $('live').setAttribute('aria-pressed', String(past.isLive));
  $('time-text').textContent = past.isLive ? 'live' : duration(past.chosen.seconds);
  slider.setAttribute('aria-valuetext', $('time-text').textContent);
}

// What each gadget does in a second, from this state and an earlier one.
function ratesOf(before, now) {
  const span = before ? now.seconds - before.seconds : 0;
  return now.gadgets.map((gadget, k) => {
    const rate = (key) => (span > 0 ? Math.max(0, gadget[key] - before.gadgets[k][key]) / span : 0);
    const messages = Math.max(rate('messages_in'), rate('messages_out'));
    return { messages, events: Math.max(rate('events_in'), rate('events_out')), busy: rate('busy_seconds') };
  });
}

const connection = new Connection({
  open() {
    notice('');
  },
  hello(message) {
    hello = message;
    ended = false;
    states = [];
    samples = message.counts;
    newest = null;
    past.clear();
    $('pipeline').textContent = message.pipeline;
    document.title = `${message.pipeline} · tofstream`;
    $('version').textContent = `tofstream ${message.version} · for research, not for clinical use${message.steering ? '' : ' · this page only shows'}`;
    graph.begin(message.gadgets, message.edges);
    parameters.begin(message.parameters, message.steering);
  },
  state(message) {
    const rates = ratesOf(states[0], message);
    states = [...states.slice(-4), message];
    ended = message.ended;
    const last = samples[samples.length - 1];
    if (!last || message.counts[0] > last[0]) samples.push(message.counts);
    if (samples.length > 1200) samples = samples.filter((_, k) => k % 2 === 0);
    showPhase(ended ? (message.phase === 'stopping' ? 'stopped' : 'done') : message.phase);
    $('clock').textContent = message.seconds > 0 ? duration(message.seconds) : '';
    showWaiting(message);
    showFiles(message);
    showNumbers($('numbers'), message, samples);
    $('rate').hidden = samples.length < 2;
    drawCounts($('plot'), samples);
    showRegions(message);
    graph.show(rates, message.edges);
    showGadgets($('gadgets').tBodies[0], hello, message, rates);
    parameters.show(message.parameters);
    past.update(message.past, ended);
    showTime();
    if (ended) past.settled().then(() => connection.leave());
  },
  image(buffer) {
    try {
      newest = parseEstimate(buffer);
    } catch (error) {
      return notice(error.message);
    }
    if (past.isLive) look(newest);
  },
  closed() {
    $('stop').disabled = true;
    if (ended) return notice('');
    showPhase('disconnected');
    notice('The program is not there: the run has ended or failed, as its terminal says, or the connection was cut. Trying again.');
  },
});

const parameters = new Parameters($('parameters'), (parameter, value) =>
  connection.ask({ type: 'set', gadget: parameter.gadget, parameter: parameter.name, value }));

for (const name of colourNames) $('colours').append(html('option', {}, name));
$('colours').value = view.colours;
$('colours').addEventListener('change', () => {
  view.colours = $('colours').value;
  view.table = colourTable(view.colours);
  redraw();
});
for (const which of ['low', 'high'])
  $(which).addEventListener('input', () => {
    view[which] = Number($(which).value);
    redraw();
  });
$('crosshair').addEventListener('change', () => {
  overlay.hasCross = $('crosshair').checked;
  drawOver();
});
$('hold').addEventListener('change', () => {
  view.held = $('hold').checked && shown ? robustMaximum(shown) : null;
  redraw();
});

$('time').addEventListener('input', async () => {
  past.choose(Number($('time').value));
  showTime();
  const estimate = past.isLive ? newest : await past.load();
  if (estimate) look(estimate);
});
$('live').addEventListener('click', () => {
  past.choose(past.entries.length);
  showTime();
  if (newest) look(newest);
});

let turning = !prefers('prefers-reduced-motion: reduce');
function turn(degrees) {
  projection.degrees = degrees;
  $('angle').value = degrees;
  $('angle-text').textContent = `${degrees}°`;
  $('projection').dataset.right = sideAt(degrees);
  overlay.turn(degrees);
  due.projection = shown !== null;
}
$('turn').setAttribute('aria-pressed', String(turning));
$('turn').addEventListener('click', () => {
  turning = !turning;
  $('turn').setAttribute('aria-pressed', String(turning));
});
$('angle').addEventListener('input', () => {
  turning = false;
  $('turn').setAttribute('aria-pressed', 'false');
  turn(Number($('angle').value));
});
setInterval(() => {
  if (turning && shown && !document.hidden) turn((projection.degrees + 3) % 360);
}, 90);

$('stop').addEventListener('click', () => $('confirm').showModal());
$('confirm').addEventListener('close', async () => {
  if ($('confirm').returnValue !== 'stop') return;
  const wrong = await connection.ask({ type: 'stop' });
  if (wrong) notice(`The run was not stopped: ${wrong}`);
});

new ResizeObserver(() => {
  graph.lay();
  redraw();
}).observe(document.body);
requestAnimationFrame(draw);
// SPDX-License-Identifier: Apache-2.0
