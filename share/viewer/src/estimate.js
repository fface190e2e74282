// An estimate's message (share/doc/page.md): its header, codes and values; the same as a NIfTI-1 file in memory.

const headerBytes = 96;
const text = new TextDecoder();

// Texts that zeros part and fill up.
function words(buffer, from, to) {
  return text.decode(new Uint8Array(buffer, from, to - from)).split('\0');
}

// Throws where the bytes are no such message.
export function parseEstimate(buffer) {
  const view = new DataView(buffer);
  const magic = buffer.byteLength < headerBytes ? '' : String.fromCharCode(...new Uint8Array(buffer, 0, 4));
  if (magic !== 'TOFE' || view.getUint8(4) !== 2) throw new Error('an image of an unknown kind came: is the page as new as the program?');
  const ints = (at) => [0, 4, 8].map((k) => view.getUint32(at + k, true));
  const floats = (at) => [0, 4, 8].map((k) => view.getFloat32(at + k, true));
  const size = ints(24);
  const voxels = size[0] * size[1] * size[2];
  const start = view.getUint16(6, true);
  if (buffer.byteLength !== start + 2 * voxels) throw new Error('an image came of which a part is missing');
  const [notQuantitative, filtered = ''] = words(buffer, headerBytes, start);
  return {
    number: view.getUint32(8, true),
    isFinal: (view.getUint8(5) & 1) !== 0,
    iteration: view.getUint32(12, true),
    subset: view.getUint32(16, true),
    shrink: view.getUint32(20, true),
    size,
    voxelMm: floats(36),
    originMm: floats(48),
    scale: view.getFloat32(60, true),
    offset: view.getFloat32(64, true),
    seconds: view.getFloat32(68, true),
    endEvent: Number(view.getBigUint64(72, true)),
    unit: words(buffer, 80, 96)[0],
    notQuantitative, // why not; empty where it is, or nobody says
    filtered, // how: "smoothed by 5 mm FWHM"; empty where it is not
    codes: new Uint16Array(buffer, start, voxels),
  };
}

export function sameGrid(a, b) {
  const text = (e) => JSON.stringify([e.size, e.voxelMm, e.originMm]);
  return a !== null && b !== null && text(a) === text(b);
}

// The code below which lie 99.9 % of the voxels that are not 0: what 100 % of the window means.
export function robustMaximum(estimate) {
  const bins = new Uint32Array(1024);
  let above = 0;
  for (const code of estimate.codes) {
    if (code === 0) continue;
    bins[code >> 6]++;
    above++;
  }
  let left = above * 0.001;
  for (let bin = bins.length - 1; bin >= 0; bin--) {
    left -= bins[bin];
    if (left < 0) return estimate.offset + estimate.scale * ((bin + 1) * 64 - 1);
  }
  return estimate.offset + estimate.scale * 65535;
}

// The image as a NIfTI-1 file of uint16 with slope and intercept. Frame: LPS here, RAS there.
export function niftiOf(estimate) {
  const start = 352;
  const file = new ArrayBuffer(start + estimate.codes.byteLength);
  const view = new DataView(file);
  const float = (at, value) => view.setFloat32(at, value, true);
  view.setInt32(0, 348, true);
  [3, ...estimate.size, 1, 1, 1, 1].forEach((n, k) => view.setInt16(40 + 2 * k, n, true));
  view.setInt16(70, 512, true); // uint16
  view.setInt16(72, 16, true);
  [1, ...estimate.voxelMm].forEach((mm, k) => float(76 + 4 * k, mm));
  float(108, start);
  float(112, estimate.scale);
  float(116, estimate.offset);
  view.setUint8(123, 2); // mm
  view.setInt16(254, 1, true); // sform: scanner
  for (let axis = 0; axis < 3; axis++) {
    const sign = axis < 2 ? -1 : 1;
    float(280 + 16 * axis + 4 * axis, sign * estimate.voxelMm[axis]);
    float(280 + 16 * axis + 12, sign * estimate.originMm[axis]);
  }
  view.setUint32(344, 0x00312b6e, true); // "n+1"
  new Uint16Array(file, start).set(estimate.codes);
  return file;
}
// SPDX-License-Identifier: Apache-2.0
