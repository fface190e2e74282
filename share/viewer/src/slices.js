// Three slices through a point: by NiiVue where the browser has WebGL2, else plainly on a 2D canvas. Where they lie is the
// page's (layout.js), and so is what is drawn over them (overlay.js).
import { NVImage, Niivue, SHOW_RENDER, SLICE_TYPE } from '@niivue/niivue';
import { colourNames, niivueColours, paint } from './colours.js';
import { niftiOf, sameGrid } from './estimate.js';

const help = 'Three slices: transverse, coronal, sagittal. Arrow keys move the point sideways and up or down, page up and page down along the scanner.';

function newCanvas(parent) {
  const canvas = document.createElement('canvas');
  canvas.id = 'slices-canvas';
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', help);
  parent.replaceChildren(canvas);
  return canvas;
}

// Calls `move(dx, dy, dz)`, in voxels of the LPS frame, as keys are pressed.
function onKeys(canvas, move) {
  const moves = { ArrowLeft: [-1, 0, 0], ArrowRight: [1, 0, 0], ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0], PageUp: [0, 0, 1], PageDown: [0, 0, -1] };
  canvas.addEventListener('keydown', (event) => {
    const by = moves[event.key];
    if (!by) return;
    event.preventDefault();
    move(...by);
  });
}

// Of [x, y, z] as shares of the image along LPS: where the slices are.
const centre = [0.5, 0.5, 0.5];

class NiivueSlices {
  async begin(parent, table, moved) {
    const canvas = newCanvas(parent);
    this.view = new Niivue({
      backColor: [table[0] / 255, table[1] / 255, table[2] / 255, 1], crosshairWidth: 0, dragAndDropEnabled: false,
      isOrientationTextVisible: false, isRadiologicalConvention: true, sagittalNoseLeft: true, loadingText: '', logLevel: 'error',
      multiplanarShowRender: SHOW_RENDER.NEVER, scrollRequiresFocus: true, viewModeHotKey: '', clipPlaneHotKey: '', cycleClipPlaneHotKey: '',
    });
    await this.view.attachToCanvas(canvas);
    this.view.setSliceType(SLICE_TYPE.MULTIPLANAR);
    for (const name of colourNames) this.view.addColormap(name, niivueColours(name));
    this.view.onLocationChange = () => moved();
    onKeys(canvas, (x, y, z) => this.view.moveCrosshairInVox(x, y, z));
    this.shown = null;
    return this;
  }

  // NiiVue's own point is in RAS.
  get point() {
    if (!this.shown) return centre;
    const [x, y, z] = this.view.scene.crosshairPos;
    return [1 - x, 1 - y, z];
  }

  place(tiles, width, height) {
    const kinds = [['transverse', SLICE_TYPE.AXIAL], ['coronal', SLICE_TYPE.CORONAL], ['sagittal', SLICE_TYPE.SAGITTAL]];
    const layout = kinds.map(([name, sliceType]) => {
      const [left, top, w, h] = tiles[name];
      return { sliceType, position: [left / width, top / height, w / width, h / height] };
    });
    const text = JSON.stringify(layout);
    if (text === this.layout) return;
    this.layout = text;
    this.view.setCustomLayout(layout);
  }

  async draw(estimate, colours, table, low, high, tiles, width, height) {
    const sameAsBefore = sameGrid(this.shown, estimate);
    if (!sameAsBefore) {
      const image = await NVImage.new(niftiOf(estimate), 'estimate.nii', colours, 1, null, low, high, true, 0.02, false, false);
      for (const old of [...this.view.volumes]) this.view.removeVolume(old);
      this.view.addVolume(image);
    }
    const volume = this.view.volumes[0];
    if (sameAsBefore && this.shown !== estimate) volume.img = estimate.codes;
    this.shown = estimate;
    Object.assign(volume.hdr, { scl_slope: estimate.scale, scl_inter: estimate.offset });
    Object.assign(volume, { cal_min: low, cal_max: high });
    this.view.opts.backColor = [table[0] / 255, table[1] / 255, table[2] / 255, 1];
    if (volume.colormap !== colours) volume.colormap = colours;
    this.place(tiles, width, height);
    this.view.updateGLVolume();
  }
}

class PlainSlices {
  begin(parent, table, moved) {
    this.canvas = newCanvas(parent);
    this.canvas.setAttribute('aria-label', help + ' This browser has no WebGL2, so they are drawn plainly.');
    this.small = document.createElement('canvas');
    this.voxel = null;
    this.moved = moved;
    onKeys(this.canvas, (...by) => this.last && this.move(this.voxel.map((p, k) => p + by[k])));
    for (const kind of ['pointerdown', 'pointermove'])
      this.canvas.addEventListener(kind, (event) => event.buttons === 1 && this.last && this.pick(event.offsetX, event.offsetY));
    return this;
  }

  get point() {
    return this.last ? this.voxel.map((p, k) => (p + 0.5) / this.last[0].size[k]) : centre;
  }

  move(voxel) {
    this.voxel = voxel.map((p, k) => Math.min(Math.max(p, 0), this.last[0].size[k] - 1));
    this.draw(...this.last);
    this.moved();
  }

  // What lies under the pointer becomes the point.
  pick(x, y) {
    const [estimate, , , , , tiles] = this.last;
    for (const [name, [left, top, width, height]] of Object.entries(tiles)) {
      const [u, v] = [(x - left) / width, (y - top) / height];
      if (name === 'projection' || u < 0 || v < 0 || u >= 1 || v >= 1) continue;
      const [nx, ny, nz] = estimate.size;
      const [i, j, k] = this.voxel;
      const along = (share, n) => Math.floor(share * n);
      this.move({ transverse: [along(u, nx), along(v, ny), k], coronal: [along(u, nx), j, along(1 - v, nz)], sagittal: [i, along(u, ny), along(1 - v, nz)] }[name]);
    }
  }

  draw(estimate, colours, table, low, high, tiles, width, height) {
    if (!this.last || !sameGrid(this.last[0], estimate)) this.voxel = estimate.size.map((n) => n >> 1);
    this.last = [estimate, colours, table, low, high, tiles, width, height];
    const { size, codes, scale, offset } = estimate;
    const [nx, ny, nz] = size;
    const [x, y, z] = this.voxel;
    const at = (i, j, k) => codes[(k * ny + j) * nx + i];
    const planes = {
      transverse: { columns: nx, rows: ny, at: (u, v) => at(u, v, z) },
      coronal: { columns: nx, rows: nz, at: (u, v) => at(u, y, nz - 1 - v) },
      sagittal: { columns: ny, rows: nz, at: (u, v) => at(x, u, nz - 1 - v) },
    };
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.max(1, Math.round(width * ratio)), height: Math.max(1, Math.round(height * ratio)) });
    const context = this.canvas.getContext('2d');
    context.fillStyle = `rgb(${table[0]}, ${table[1]}, ${table[2]})`;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    for (const [name, plane] of Object.entries(planes)) {
      const samples = new Uint16Array(plane.columns * plane.rows);
      for (let v = 0; v < plane.rows; v++) for (let u = 0; u < plane.columns; u++) samples[v * plane.columns + u] = plane.at(u, v);
      paint(this.small, samples, plane.columns, plane.rows, table, (low - offset) / scale, (high - offset) / scale);
      context.drawImage(this.small, ...tiles[name].map((edge) => edge * ratio));
    }
  }
}

// Either of the two. draw(estimate, colour map's name, its table, low, high, tiles, width, height) draws, or promises to,
// into the tiles of a room of this many CSS pixels; `point` is where the slices are, as shares of the image along LPS;
// `moved` is called when it has moved.
export async function makeSlices(parent, table, moved) {
  if (document.createElement('canvas').getContext('webgl2')) {
    try {
      return await new NiivueSlices().begin(parent, table, moved);
    } catch (error) {
      console.warn('NiiVue does not work here:', error);
    }
  }
  return new PlainSlices().begin(parent, table, moved);
}
// SPDX-License-Identifier: Apache-2.0
