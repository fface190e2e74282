// Drawings over time: the count rate, events a second between one sample of the counts and the next; and curves of regions.
import { count, duration, quantity, svg } from './numbers.js';

const width = 460, height = 190, left = 52, right = 10, top = 22, bottom = 24;
const colours = 6; // of page.css; the first has no suffix
const curves = [[1, 'received', ''], [2, 'reconstructed or written', '-2'], [3, 'rejected or lost', '-3']];

// A round number at or above x: 1, 2 or 5 times a power of ten.
function roundUp(x) {
  const power = 10 ** Math.floor(Math.log10(Math.max(x, 1e-9)));
  return [1, 2, 5, 10].map((k) => k * power).find((k) => k >= x * 0.999);
}

// samples: [seconds, received, reconstructed, rejected, lost], events so far. Rates between samples that are `atLeast`
// seconds apart.
export function ratesOf(samples, atLeast) {
  const rates = [];
  let before = samples[0];
  for (const sample of samples) {
    const span = sample[0] - before[0];
    if (span < atLeast) continue;
    const rate = (k) => Math.max(0, (sample[k] - before[k]) / span);
    rates.push([sample[0], rate(1), rate(2), rate(3) + rate(4)]);
    before = sample;
  }
  return rates;
}

const keyWidth = (name) => 30 + 6.2 * name.length;

// Where names stand above a drawing, as [x, row]: in as many rows as they need.
function keyPlaces(names) {
  let x = left, row = 0;
  return names.map((name) => {
    if (x > left && x + keyWidth(name) > width) [x, row] = [left, row + 1];
    const place = [x, row];
    x += keyWidth(name);
    return place;
  });
}

// The names of curves, lines with their values at both axes' ends and middles, and no curve yet. keys: [name, suffix].
function frame(last, most, valueText, keys) {
  const places = keyPlaces(keys.map(([name]) => name));
  const under = top + 14 * (places.length ? places[places.length - 1][1] : 0);
  const x = (t) => left + (t / Math.max(last, 1e-9)) * (width - left - right);
  const y = (value) => height - bottom - (value / most) * (height - under - bottom);
  const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  for (const part of [0, 0.5, 1]) {
    root.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }));
    root.append(svg('text', { x: left - 6, y: y(part * most) + 4, 'text-anchor': 'end' }, valueText(part * most)));
    root.append(svg('text', { x: x(part * last), y: height - 8, 'text-anchor': ['start', 'middle', 'end'][part * 2] }, duration(part * last)));
  }
  for (const [k, [name, suffix]] of keys.entries()) {
    const [at, row] = places[k];
    root.append(svg('rect', { class: `key${suffix}`, x: at, y: 4 + 14 * row, width: 10, height: 10 }), svg('text', { x: at + 14, y: 13 + 14 * row }, name));
  }
  return { root, x, y };
}

function curve(points, x, y, suffix) {
  return svg('path', { class: `curve curve${suffix}`, d: 'M' + points.map(([t, value]) => `${x(t).toFixed(1)} ${y(value).toFixed(1)}`).join('L') });
}

export function drawCounts(parent, samples) {
  const last = samples.length ? samples[samples.length - 1][0] : 0;
  const rates = ratesOf(samples, Math.max(0.9, last / 80));
  const most = roundUp(Math.max(1, ...rates.map((r) => Math.max(r[1], r[2], r[3]))));
  const { root, x, y } = frame(last, most, (rate) => `${count(rate)}/s`, curves.map(([, name, suffix]) => [name, suffix]));
  if (rates.length)
    for (const [k, , suffix] of curves) root.append(curve(rates.map((r) => [r[0], r[k]]), x, y, suffix));
  parent.replaceChildren(root);
}

// What the gadget region_curves reports: times, the unit, and values by region; null where no gadget does.
export function regionCurves(state) {
  const figures = state.gadgets.map((gadget) => gadget.figures).find((each) => Array.isArray(each.curve_time_s));
  if (!figures) return null;
  const prefix = 'curve ';
  const regions = Object.entries(figures).filter(([name]) => name.startsWith(prefix));
  return { times: figures.curve_time_s, unit: figures.curve_unit ?? '', regions: regions.map(([name, values]) => [name.slice(prefix.length), values]) };
}

// A point for each frame, in the middle of its time.
export function drawRegions(parent, { times, regions }) {
  const most = roundUp(Math.max(1e-9, ...regions.flatMap(([, values]) => values)));
  const suffix = (k) => (k % colours === 0 ? '' : `-${(k % colours) + 1}`);
  const { root, x, y } = frame(Math.max(...times), most, quantity, regions.map(([name], k) => [name, suffix(k)]));
  for (const [k, [, values]] of regions.entries()) {
    const points = times.map((t, number) => [t, values[number]]).filter(([, value]) => Number.isFinite(value));
    root.append(curve(points, x, y, suffix(k)));
    for (const [t, value] of points) root.append(svg('circle', { class: `key${suffix(k)}`, cx: x(t), cy: y(value), r: 2.5 }));
  }
  parent.replaceChildren(root);
}
// SPDX-License-Identifier: Apache-2.0
