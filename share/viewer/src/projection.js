// A maximum-intensity projection that turns about the scanner's axis, computed on the processor: it needs no WebGL.
import { paint } from './colours.js';

const mostEdge = 112; // samples along an edge; of a finer image the largest of neighbouring voxels counts

// A scanner sees little in the slices at its ends: a projection would show nothing but their noise. This share of the
// slices is left out at either end, as in the program's pictures.
const oneIn = 20;

// The largest voxel of each block of factor^3; 0 in the ends.
export function blockMaxima(estimate) {
  const factor = Math.ceil(Math.max(...estimate.size) / mostEdge);
  const size = estimate.size.map((n) => Math.ceil(n / factor));
  const values = new Float32Array(size[0] * size[1] * size[2]);
  const [nx, ny, nz] = estimate.size;
  const ends = Math.floor(nz / oneIn);
  let from = ends * nx * ny;
  for (let k = ends; k < nz - ends; k++)
    for (let j = 0; j < ny; j++) {
      const row = (Math.floor(k / factor) * size[1] + Math.floor(j / factor)) * size[0];
      for (let i = 0; i < nx; i++, from++) {
        const to = factor === 1 ? row + i : row + Math.floor(i / factor);
        if (estimate.codes[from] > values[to]) values[to] = estimate.codes[from];
      }
    }
  return { size, values, edges: estimate.voxelMm.map((mm) => mm * factor) };
}

// Codes of the largest samples along rays across the axis, at an angle in degrees; 0 looks from the front (anterior),
// with the patient's left on the right and the head up. Rays are sampled at the voxels' distance, linearly within the plane.
export function project(volume, degrees) {
  const [nx, ny, nz] = volume.size;
  const [dx, dy] = volume.edges;
  const step = Math.min(dx, dy);
  const half = 0.5 * Math.max(nx * dx, ny * dy); // the circle about the axis: what a scanner sees of the corners is nothing
  const count = Math.max(2, Math.round((2 * half) / step));
  const cos = Math.cos((degrees * Math.PI) / 180);
  const sin = Math.sin((degrees * Math.PI) / 180);
  const image = new Float32Array(count * nz);
  const plane = nx * ny;
  for (let u = 0; u < count; u++) {
    const across = (u + 0.5) * step - half;
    for (let t = 0; t < count; t++) {
      const along = (t + 0.5) * step - half;
      const x = (across * cos - along * sin) / dx + 0.5 * (nx - 1);
      const y = (across * sin + along * cos) / dy + 0.5 * (ny - 1);
      const i = Math.floor(x), j = Math.floor(y);
      if (i < 0 || j < 0 || i >= nx - 1 || j >= ny - 1) continue;
      const fx = x - i, fy = y - j;
      const a = (1 - fx) * (1 - fy), b = fx * (1 - fy), c = (1 - fx) * fy, d = fx * fy;
      for (let k = 0, at = j * nx + i, to = (nz - 1) * count + u; k < nz; k++, at += plane, to -= count) {
        const v = volume.values;
        const value = a * v[at] + b * v[at + 1] + c * v[at + nx] + d * v[at + nx + 1];
        if (value > image[to]) image[to] = value;
      }
    }
  }
  return { columns: count, rows: nz, samples: image, heightRatio: (nz * volume.edges[2]) / (count * step) };
}

export class Projection {
  constructor(canvas) {
    this.canvas = canvas;
    this.small = document.createElement('canvas');
    this.volume = null;
    this.degrees = 0;
  }

  show(estimate) {
    this.volume = blockMaxima(estimate);
    this.offset = estimate.offset;
    this.scale = estimate.scale;
  }

  // Puts the canvas there: left, top, width, height in CSS pixels.
  place(room) {
    ['left', 'top', 'width', 'height'].forEach((side, k) => (this.canvas.style[side] = `${room[k]}px`));
  }

  draw(table, low, high) {
    if (!this.volume) return;
    const view = project(this.volume, this.degrees);
    const code = (value) => (value - this.offset) / this.scale;
    paint(this.small, view.samples, view.columns, view.rows, table, code(low), code(high));
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext('2d');
    context.fillStyle = `rgb(${table[0]}, ${table[1]}, ${table[2]})`;
    context.fillRect(0, 0, width, height);
    const fit = Math.min(width, height / view.heightRatio);
    context.imageSmoothingQuality = 'high';
    context.drawImage(this.small, (width - fit) / 2, (height - fit * view.heightRatio) / 2, fit, fit * view.heightRatio);
  }
}
// SPDX-License-Identifier: Apache-2.0
