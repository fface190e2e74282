// The count rate over time: events a second between one sample of the counts and the next.
import { count, duration, svg } from './numbers.js';

const width = 460, height = 190, left = 52, right = 10, top = 22, bottom = 24;
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

export function drawCounts(parent, samples) {
  const last = samples.length ? samples[samples.length - 1][0] : 0;
  const rates = ratesOf(samples, Math.max(0.9, last / 80));
  const most = roundUp(Math.max(1, ...rates.map((r) => Math.max(r[1], r[2], r[3]))));
  const x = (t) => left + (t / Math.max(last, 1e-9)) * (width - left - right);
  const y = (r) => height - bottom - (r / most) * (height - top - bottom);
  const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  for (const part of [0, 0.5, 1]) {
    root.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: y(part * most), y2: y(part * most) }));
    root.append(svg('text', { x: left - 6, y: y(part * most) + 4, 'text-anchor': 'end' }, `${count(part * most)}/s`));
    root.append(svg('text', { x: x(part * last), y: height - 8, 'text-anchor': ['start', 'middle', 'end'][part * 2] }, duration(part * last)));
  }
  let keyAt = left;
  for (const [k, name, suffix] of curves) {
    root.append(svg('rect', { class: `key${suffix}`, x: keyAt, y: 4, width: 10, height: 10 }), svg('text', { x: keyAt + 14, y: 13 }, name));
    keyAt += 30 + 6.2 * name.length;
    if (rates.length) root.append(svg('path', { class: `curve curve${suffix}`, d: 'M' + rates.map((r) => `${x(r[0]).toFixed(1)} ${y(r[k]).toFixed(1)}`).join('L') }));
  }
  parent.replaceChildren(root);
}
// SPDX-License-Identifier: Apache-2.0
