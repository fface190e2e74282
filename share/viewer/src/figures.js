// The run's figures as numbers and as a table of gadgets.
import { count, html, milliseconds } from './numbers.js';
import { ratesOf } from './plot.js';

// What gadgets report of the measurement itself, by the names that they use.
const measured = [['singles_cps', 'Singles', (x) => `${count(x)}/s`], ['randoms_cps', 'Randoms', (x) => `${count(x)}/s`],
  ['live_fraction', 'Live time', (x) => `${(100 * x).toFixed(1)} %`], ['dead_time_fraction', 'Dead time', (x) => `${(100 * x).toFixed(1)} %`]];

function total(reasons) {
  return Object.values(reasons).reduce((sum, n) => sum + n, 0);
}

// Over the last seconds; of a scan that has ended, over all of it.
function rateOf(state, samples) {
  if (state.ended) return ['Mean rate', state.seconds > 0 ? state.books.received / state.seconds : 0];
  const rates = ratesOf(samples.slice(-6), 0.05);
  return ['Rate', rates.length ? rates.reduce((sum, r) => sum + r[1], 0) / rates.length : 0];
}

function numbersOf(state, samples) {
  const { books } = state;
  const [rateName, rate] = rateOf(state, samples);
  const numbers = [['Received', count(books.received)], [rateName, `${count(rate)}/s`]];
  if (books.written > 0) numbers.push(['Written', count(books.written)]);
  if (books.reconstructed > 0 || books.written === 0) numbers.push(['Reconstructed', count(books.reconstructed)]);
  numbers.push(['Rejected', count(total(books.rejected) + books.discarded)], ['Lost', count(total(books.lost))]);
  for (const [key, name, text] of measured)
    for (const gadget of state.gadgets) if (typeof gadget.figures[key] === 'number') numbers.push([name, text(gadget.figures[key])]);
  if (state.latency.messages > 0) numbers.push(['Latency p50', milliseconds(state.latency.p50_seconds)], ['Latency p99', milliseconds(state.latency.p99_seconds)]);
  if (state.shown.messages > 0) numbers.push(['To this page p99', milliseconds(state.shown.p99_seconds)]);
  return numbers;
}

export function showNumbers(list, state, samples) {
  list.replaceChildren(...numbersOf(state, samples).map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value))));
}

function progressText(progress) {
  if (!progress) return '';
  if (progress.total === 1) return `${Math.round(100 * progress.done)} % ${progress.unit}`;
  return `${count(progress.done)}${progress.total > 0 ? ` of ${count(progress.total)}` : ''} ${progress.unit}`;
}

function figureText(value) {
  if (Array.isArray(value)) return value.length > 4 ? `... ${value.slice(-3).map(figureText).join(', ')}` : value.map(figureText).join(', ');
  return typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(5) : String(value);
}

// What an edge that spills has on disk now, and the most it had.
function spilledText(at) {
  const mebibytes = (bytes) => (bytes / 1048576).toFixed(1);
  return at.most_disk_bytes > 0 ? `, ${mebibytes(at.disk_bytes)} MiB on disk (most ${mebibytes(at.most_disk_bytes)})` : '';
}

export function showGadgets(body, hello, state, rates) {
  if (!body.parentElement.closest('details').open && body.rows.length === hello.gadgets.length) return;
  body.replaceChildren(...hello.gadgets.map((gadget, k) => {
    const now = state.gadgets[k];
    const waiting = hello.edges.map((edge, e) => [edge, state.edges[e]]).filter(([edge]) => edge.to === gadget.name)
      .map(([edge, at]) => `${at.waiting_messages}${edge.spills ? spilledText(at) : ` of ${edge.limit_messages}`}${at.dropped_messages > 0 ? `, ${count(at.dropped_messages)} dropped` : ''}`);
    const reports = [progressText(now.progress), ...Object.entries(now.figures).map(([key, value]) => `${key}: ${figureText(value)}`)];
    return html('tr', {}, html('th', { scope: 'row' }, gadget.name),
      ...[gadget.use, count(rates[k].messages), count(rates[k].events), `${Math.round(100 * rates[k].busy)} %`, waiting.join('; '),
        reports.filter((text) => text).join('; ')].map((text) => html('td', {}, text)));
  }));
}
// SPDX-License-Identifier: Apache-2.0
