// Numbers and times as people read them, and a few words of SVG.

export function count(n) {
  if (!Number.isFinite(n)) return '-';
  const size = Math.abs(n);
  for (const [limit, unit] of [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']])
    if (size >= limit) return `${(n / (unit === 'k' ? 1e3 : limit)).toPrecision(3)} ${unit}`;
  return size >= 100 || Number.isInteger(n) ? String(Math.round(n)) : n.toPrecision(3);
}

// A voxel's value: three digits, "2,140", "0.0213".
export function quantity(x) {
  if (!Number.isFinite(x)) return '-';
  if (x === 0) return '0';
  const rounded = Number(x.toPrecision(3));
  const size = Math.abs(rounded);
  if (size >= 1e-3 && size < 1e9) return rounded.toLocaleString('en-GB', { maximumFractionDigits: 6 });
  const power = Math.floor(Math.log10(size));
  const digits = [...String(power)].map((digit) => (digit === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit])).join('');
  return `${Number((rounded / 10 ** power).toPrecision(3))} × 10${digits}`;
}

export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (n) => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

export function milliseconds(seconds) {
  return seconds < 1 ? `${(1000 * seconds).toPrecision(3)} ms` : `${seconds.toPrecision(3)} s`;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
// SPDX-License-Identifier: Apache-2.0
