// Three slices through a point: by NiiVue where the browser has WebGL2, else plainly on a 2D canvas.
import { MULTIPLANAR_TYPE, NVImage, Niivue, SHOW_RENDER, SLICE_TYPE } from '@niivue/niivue';
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

class NiivueSlices {
  async begin(parent, table) {
    const canvas = newCanvas(parent);
    this.view = new Niivue({
      backColor: [table[0] / 255, table[1] / 255, table[2] / 255, 1], crosshairColor: [0.2, 0.55, 0.95, 0.8], crosshairWidth: 0.4, crosshairGap: 4, dragAndDropEnabled: false, fontMinPx: 11,
      isRadiologicalConvention: true, sagittalNoseLeft: true, loadingText: '', logLevel: 'error', multiplanarShowRender: SHOW_RENDER.NEVER,
      multiplanarLayout: MULTIPLANAR_TYPE.GRID, multiplanarPadPixels: 6, scrollRequiresFocus: true,
      viewModeHotKey: '', clipPlaneHotKey: '', cycleClipPlaneHotKey: '',
    });
    await this.view.attachToCanvas(canvas);
    this.view.setSliceType(SLICE_TYPE.MULTIPLANAR);
    for (const name of colourNames) this.view.addColormap(name, niivueColours(name));
    onKeys(canvas, (x, y, z) => this.view.moveCrosshairInVox(x, y, z));
    this.shown = null;
    return this;
  }

  async draw(estimate, colours, table, low, high) {
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
    this.view.updateGLVolume();
    return this.room();
  }

  // Where the three leave room: beside the transverse slice, under the sagittal one, in CSS pixels.
  room() {
    const place = (kind) => this.view.screenSlices.find((tile) => tile.axCorSag === kind)?.leftTopWidthHeight;
    const [transverse, sagittal] = [place(SLICE_TYPE.AXIAL), place(SLICE_TYPE.SAGITTAL)];
    if (!transverse || !sagittal) return null;
    const ratio = this.view.canvas.width / Math.max(this.view.canvas.clientWidth, 1);
    return [sagittal[0], transverse[1], sagittal[2], transverse[3]].map((x) => x / ratio);
  }
}

class PlainSlices {
  begin(parent) {
    this.canvas = newCanvas(parent);
    this.canvas.setAttribute('aria-label', help + ' This browser has no WebGL2, so they are drawn plainly.');
    this.small = document.createElement('canvas');
    this.point = null;
    onKeys(this.canvas, (...by) => {
      if (!this.last) return;
      this.point = this.point.map((p, k) => Math.min(Math.max(p + by[k], 0), this.last[0].size[k] - 1));
      this.draw(...this.last);
    });
    return this;
  }

  draw(estimate, colours, table, low, high) {
    if (!this.last || !sameGrid(this.last[0], estimate)) this.point = estimate.size.map((n) => n >> 1);
    this.last = [estimate, colours, table, low, high];
    const { size, codes, voxelMm: mm, scale, offset } = estimate;
    const [nx, ny, nz] = size;
    const [x, y, z] = this.point;
    const at = (i, j, k) => codes[(k * ny + j) * nx + i];
    const [w, d, h] = [nx * mm[0], ny * mm[1], nz * mm[2]];
    // What is seen, from the left and from the top, as NiiVue has it: coronal, sagittal, and transverse below.
    const planes = [
      { columns: nx, rows: nz, left: 0, top: 0, width: w, height: h, at: (u, v) => at(u, y, nz - 1 - v) },
      { columns: ny, rows: nz, left: w, top: 0, width: d, height: h, at: (u, v) => at(x, u, nz - 1 - v) },
      { columns: nx, rows: ny, left: 0, top: h, width: w, height: d, at: (u, v) => at(u, v, z) },
    ];
    const ratio = window.devicePixelRatio || 1;
    const width = (this.canvas.width = Math.max(1, this.canvas.clientWidth * ratio));
    const height = (this.canvas.height = Math.max(1, this.canvas.clientHeight * ratio));
    const context = this.canvas.getContext('2d');
    context.fillStyle = `rgb(${table[0]}, ${table[1]}, ${table[2]})`;
    context.fillRect(0, 0, width, height);
    const fit = Math.min(width / (w + d), height / (h + d));
    const [left, top] = [(width - fit * (w + d)) / 2, (height - fit * (h + d)) / 2];
    for (const plane of planes) {
      const samples = new Uint16Array(plane.columns * plane.rows);
      for (let v = 0; v < plane.rows; v++) for (let u = 0; u < plane.columns; u++) samples[v * plane.columns + u] = plane.at(u, v);
      paint(this.small, samples, plane.columns, plane.rows, table, (low - offset) / scale, (high - offset) / scale);
      context.drawImage(this.small, left + fit * plane.left, top + fit * plane.top, fit * plane.width, fit * plane.height);
    }
    return [left + fit * w, top + fit * h, fit * d, fit * d].map((x) => x / ratio);
  }
}

// Either of the two: draw(estimate, colour map's name, its table, low, high) gives, or promises, the rectangle that is left
// free: left, top, width and height in CSS pixels.
export async function makeSlices(parent, table) {
  if (document.createElement('canvas').getContext('webgl2')) {
    try {
      return await new NiivueSlices().begin(parent, table);
    } catch (error) {
      console.warn('NiiVue does not work here:', error);
    }
  }
  return new PlainSlices().begin(parent);
}
