// The pipeline as a graph: gadgets in layers after those that they read from, edges with what waits on them.
import { count, svg } from './numbers.js';

const box = { width: 132, height: 50 };

// Layer of each gadget: one more than the deepest that it reads from. Gadgets come in topological order.
function layersOf(gadgets, edges) {
  const layer = new Map(gadgets.map((g) => [g.name, 0]));
  for (const gadget of gadgets)
    for (const edge of edges)
      if (edge.to === gadget.name && !edge.feedback) layer.set(gadget.name, Math.max(layer.get(gadget.name), layer.get(edge.from) + 1));
  return layer;
}

// Middle of each gadget's box; along the reading direction, or downwards where that is too wide.
function layout(gadgets, edges, isDown) {
  const layer = layersOf(gadgets, edges);
  const depth = Math.max(0, ...layer.values()) + 1;
  const rows = Array.from({ length: depth }, () => []);
  for (const gadget of gadgets) rows[layer.get(gadget.name)].push(gadget.name);
  const most = Math.max(1, ...rows.map((row) => row.length));
  const pitch = isDown ? { along: box.height + 38, across: box.width + 16 } : { along: box.width + 52, across: box.height + 22 };
  const places = new Map();
  rows.forEach((row, k) => row.forEach((name, i) => {
    const along = (k + 0.5) * pitch.along, across = (i + 0.5 + (most - row.length) / 2) * pitch.across;
    places.set(name, isDown ? [across, along] : [along, across]);
  }));
  const size = isDown ? [most * pitch.across, depth * pitch.along] : [depth * pitch.along, most * pitch.across];
  return { places, size };
}

function curve(from, to, isDown, isFeedback) {
  const [w, h] = [box.width / 2, box.height / 2];
  if (isFeedback) { // around the outside: below, or to the right
    if (isDown) {
      const side = Math.max(from[0], to[0]) + w + 26;
      return { d: `M${from[0] + w} ${from[1]}C${side} ${from[1]} ${side} ${to[1]} ${to[0] + w} ${to[1]}`, middle: [side - 8, (from[1] + to[1]) / 2] };
    }
    const low = Math.max(from[1], to[1]) + h + 30;
    return { d: `M${from[0]} ${from[1] + h}C${from[0]} ${low} ${to[0]} ${low} ${to[0]} ${to[1] + h}`, middle: [(from[0] + to[0]) / 2, low - 6] };
  }
  const a = isDown ? [from[0], from[1] + h] : [from[0] + w, from[1]];
  const b = isDown ? [to[0], to[1] - h] : [to[0] - w, to[1]];
  const m = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  return { d: isDown ? `M${a}C${a[0]} ${m[1]} ${b[0]} ${m[1]} ${b}` : `M${a}C${m[0]} ${a[1]} ${m[0]} ${b[1]} ${b}`, middle: m };
}

export class Graph {
  constructor(parent) {
    this.parent = parent;
  }

  begin(gadgets, edges) {
    Object.assign(this, { gadgets, edges, isDown: undefined });
    this.lay();
  }

  // Anew where the page has become too narrow for the present direction, or wide enough for the other one.
  lay() {
    if (!this.gadgets) return;
    const wanted = layout(this.gadgets, this.edges, false).size[0] > 1.35 * Math.max(this.parent.clientWidth, 1);
    if (wanted === this.isDown) return;
    this.isDown = wanted;
    const { places, size } = layout(this.gadgets, this.edges, wanted);
    const room = this.edges.some((edge) => edge.feedback) ? 34 : 4;
    const [width, height] = wanted ? [size[0] + room, size[1]] : [size[0], size[1] + room];
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', style: `max-width: ${width * 1.15}px; margin: 0 auto` });
    root.append(svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
      markerUnits: 'userSpaceOnUse', orient: 'auto' }, svg('path', { d: 'M0 0L8 4L0 8z' }))));
    this.edgeViews = this.edges.map((edge) => {
      const shape = curve(places.get(edge.from), places.get(edge.to), wanted, edge.feedback);
      const path = svg('path', { d: shape.d, 'marker-end': 'url(#arrow)' });
      const label = svg('text', { class: 'queue', x: shape.middle[0], y: shape.middle[1] + 4, 'text-anchor': 'middle' });
      root.append(path, label);
      return { path, label };
    });
    this.nodeViews = this.gadgets.map((gadget) => {
      const [x, y] = places.get(gadget.name);
      const rate = svg('text', { x, y: y + 18, 'text-anchor': 'middle' });
      const node = svg('g', { class: 'node' }, svg('title', {}, `${gadget.use}: ${gadget.doc}`),
        svg('rect', { x: x - box.width / 2, y: y - box.height / 2, width: box.width, height: box.height, rx: 8 }),
        svg('text', { class: 'name', x, y: y - 9, 'text-anchor': 'middle' }, gadget.name),
        svg('text', { x, y: y + 5, 'text-anchor': 'middle' }, gadget.use), rate);
      root.append(node);
      return { node, rate };
    });
    this.parent.replaceChildren(root);
    if (this.last) this.show(...this.last);
  }

  // rates: of each gadget {messages, events, busy} a second; edges: as the state message has them.
  show(rates, edges) {
    this.last = [rates, edges];
    rates.forEach((rate, k) => {
      const view = this.nodeViews[k];
      view.rate.textContent = rate.events > 0 ? `${count(rate.events)} events/s` : `${count(rate.messages)}/s`;
      view.node.setAttribute('class', rate.busy > 0.5 ? 'node busy' : 'node');
    });
    edges.forEach((edge, k) => {
      const { label, path } = this.edgeViews[k];
      const about = this.edges[k];
      const share = Math.max(about.spills ? 0 : edge.waiting_messages / about.limit_messages, edge.waiting_bytes / about.limit_bytes);
      path.setAttribute('class', `edge ${about.feedback ? 'feedback' : ''} ${share >= 0.9 && !about.drops && !about.spills && about.limit_messages > 1 ? 'full' : edge.waiting_messages > 1 ? 'waiting' : ''}`);
      label.textContent = edge.waiting_messages > 0 ? `${edge.waiting_messages}` : '';
    });
  }
}
// SPDX-License-Identifier: Apache-2.0
