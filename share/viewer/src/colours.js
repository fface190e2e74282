// Colour maps as a few points of red, green and blue between which one interpolates; 256 colours of each.

const points = {
  'inverted grey': [[255, 255, 255], [0, 0, 0]],
  grey: [[0, 0, 0], [255, 255, 255]],
  hot: [[0, 0, 0], [110, 0, 0], [220, 20, 0], [255, 130, 0], [255, 225, 40], [255, 255, 255]],
  viridis: [[68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121],
    [110, 206, 88], [181, 222, 43], [253, 231, 37]],
  inferno: [[0, 0, 4], [27, 12, 65], [74, 12, 107], [120, 28, 109], [165, 44, 96], [207, 68, 70], [237, 105, 37],
    [251, 155, 6], [247, 209, 61], [252, 255, 164]],
};

export const colourNames = Object.keys(points);

// 256 colours, four bytes each: red, green, blue, 255.
export function colourTable(name) {
  const stops = points[name];
  const table = new Uint8ClampedArray(4 * 256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    for (let c = 0; c < 3; c++) table[4 * i + c] = stops[k][c] + (at - k) * (stops[k + 1][c] - stops[k][c]);
    table[4 * i + 3] = 255;
  }
  return table;
}

// The same for NiiVue.
export function niivueColours(name) {
  const stops = points[name];
  const last = stops.length - 1;
  const channel = (c) => stops.map((stop) => stop[c]);
  return { R: channel(0), G: channel(1), B: channel(2), A: stops.map(() => 255), I: stops.map((_, k) => Math.round((255 * k) / last)) };
}

// Paints samples, row by row from the top left, through a table and a window into a canvas of that many pixels.
export function paint(canvas, samples, columns, rows, table, low, high) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext('2d');
  const pixels = context.createImageData(columns, rows);
  const words = new Uint32Array(pixels.data.buffer);
  const colours = new Uint32Array(table.buffer);
  const scale = 255 / Math.max(high - low, 1e-30);
  for (let i = 0; i < words.length; i++) {
    const level = (samples[i] - low) * scale;
    words[i] = colours[level <= 0 ? 0 : level >= 255 ? 255 : level | 0];
  }
  context.putImageData(pixels, 0, 0);
}
// SPDX-License-Identifier: Apache-2.0
