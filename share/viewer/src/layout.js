// Where the three slices and the projection lie: all at one scale, in the arrangement that shows them largest.

const gap = 6; // between them, in pixels

// What is seen in each, in mm, where [w, d, h] are the image's edges: left to right, front to back, along the scanner.
function sizes([w, d, h]) {
  return { transverse: [w, d], coronal: [w, h], sagittal: [d, h], projection: [Math.max(w, d), h] };
}

// Columns, each a list of what stands below one another.
const arrangements = [
  [['coronal', 'transverse'], ['sagittal', 'projection']],
  [['transverse'], ['coronal', 'sagittal'], ['projection']],
  [['transverse'], ['coronal', 'sagittal', 'projection']],
];

// Rows are as high as their highest only in the first arrangement; in the others each column stands for itself.
function measure(columns, size, isGrid) {
  const widths = columns.map((column) => Math.max(...column.map((name) => size[name][0])));
  const rows = Math.max(...columns.map((column) => column.length));
  const row = (k) => Math.max(...columns.map((column) => (column[k] ? size[column[k]][1] : 0)));
  const heights = columns.map((column) => column.map((name, k) => (isGrid ? row(k) : size[name][1])));
  const sum = (list) => list.reduce((total, x) => total + x, 0);
  return { columns, widths, heights, rows, width: sum(widths), height: Math.max(...heights.map(sum)) };
}

// mm: the image's edges; room: [width, most height] in pixels. Gives {height, tiles: {name: [left, top, width, height]}}.
export function layOut(mm, room) {
  const size = sizes(mm);
  let best = null;
  arrangements.forEach((columns, k) => {
    const plan = measure(columns, size, k === 0);
    const scale = Math.min((room[0] - gap * (columns.length - 1)) / plan.width, (room[1] - gap * (plan.rows - 1)) / plan.height);
    if (!best || scale > 1.02 * best.scale) best = { ...plan, scale };
  });
  const { columns, widths, heights, scale, width, height, rows } = best;
  const tiles = {};
  let left = (room[0] - scale * width - gap * (columns.length - 1)) / 2;
  columns.forEach((column, c) => {
    let top = 0;
    column.forEach((name, k) => {
      const [w, h] = size[name].map((edge) => edge * scale);
      tiles[name] = [left + (scale * widths[c] - w) / 2, top + (scale * heights[c][k] - h) / 2, w, h];
      top += scale * heights[c][k] + gap;
    });
    left += scale * widths[c] + gap;
  });
  return { height: scale * height + gap * (rows - 1), tiles };
}
// SPDX-License-Identifier: Apache-2.0
