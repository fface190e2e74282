// What is drawn over the slices: the patient's sides, and the crosshair with a gap about the point that it marks.
import { svg } from './numbers.js';

const least = 14; // pixels that the crosshair leaves free about its point, on each side

// Letters at the left, right, top and bottom of each slice. S and I stand near the left corners, where no patient is.
const sides = { transverse: 'RLAP', coronal: 'RLSI', sagittal: 'APSI' };

// The patient's side to which the screen's right points where the projection is seen from an angle: 0 from the front.
export function sideAt(degrees) {
  return ['L', 'LP', 'P', 'RP', 'R', 'RA', 'A', 'LA'][Math.round(degrees / 45) % 8];
}

function letters([left, top, width, height], four) {
  const inset = 10;
  const x = left + (four[2] === 'S' ? 3 * inset : width / 2);
  const places = [[left + inset, top + height / 2, 'start'], [left + width - inset, top + height / 2, 'end'],
    [x, top + inset + 5, 'middle'], [x, top + height - inset, 'middle']];
  return places.map(([x, y, anchor], k) =>
    svg('text', { x: anchor === 'start' ? x - 5 : anchor === 'end' ? x + 5 : x, y: k < 2 ? y + 5 : y, 'text-anchor': anchor, class: 'letter' }, four[k]));
}

// Four strokes that end before the point.
function cross([left, top, width, height], [u, v], free) {
  const [x, y] = [left + u * width, top + v * height];
  const line = (x1, y1, x2, y2) => ((x2 - x1) + (y2 - y1) > 0 ? [svg('line', { x1, y1, x2, y2 })] : []);
  return [...line(left, y, x - free, y), ...line(x + free, y, left + width, y), ...line(x, top, x, y - free), ...line(x, y + free, x, top + height)];
}

export class Overlay {
  constructor(parent) {
    this.root = svg('svg', { 'aria-hidden': 'true' });
    this.hasCross = true;
    parent.append(this.root);
  }

  // tiles: {name: [left, top, width, height]}; point: where the slices are, as shares of the image along LPS; voxel: the
  // larger edge of a voxel on the screen, in pixels.
  draw(tiles, point, voxel, degrees) {
    Object.assign(this, { tiles, point, voxel });
    const [x, y, z] = point;
    const at = { transverse: [x, y], coronal: [x, 1 - z], sagittal: [y, 1 - z] };
    const free = Math.max(least, 2.5 * voxel);
    const marks = [];
    for (const [name, tile] of Object.entries(tiles)) {
      if (name === 'projection') continue;
      if (this.hasCross) marks.push(svg('g', { class: 'cross', 'data-of': name }, ...cross(tile, at[name], free)));
      marks.push(svg('g', { 'data-of': name }, ...letters(tile, sides[name])));
    }
    this.turning = svg('g', { 'data-of': 'projection' });
    this.root.replaceChildren(...marks, this.turning);
    this.turn(degrees);
  }

  turn(degrees) {
    if (!this.tiles) return;
    this.turning.replaceChildren(...letters(this.tiles.projection, [sideAt(degrees + 180), sideAt(degrees), 'S', 'I']));
  }
}
// SPDX-License-Identifier: Apache-2.0
