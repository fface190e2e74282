// Live parameters: a slider where there are limits, else a field; a change is sent when it is made, and what the program
// says of it is shown.
import { html } from './numbers.js';

const wide = 1000; // times the value: a limit that far away is no end for a slider

// The ends of its slider: its limits, or where there are none within reach, what is some times the value. They grow with it.
function endsOf(parameter, value) {
  const reach = 4 * Math.max(Math.abs(value), Math.abs(Number(parameter.default) || 0), parameter.kind === 'integer' ? 5 : 1e-9);
  const isNear = (limit) => limit !== null && Math.abs(limit) <= wide * reach;
  const low = isNear(parameter.lo) ? parameter.lo : value < 0 ? -reach : 0;
  return { min: low, max: isNear(parameter.hi) ? parameter.hi : Math.max(reach, low + reach) };
}

function stepOf(parameter, { min, max }) {
  if (parameter.kind === 'integer') return Math.max(1, 10 ** Math.floor(Math.log10((max - min) / 200)));
  return 10 ** Math.floor(Math.log10((max - min) / 200));
}

function inputsOf(parameter, id, label) {
  const common = { id, 'aria-describedby': `${id}-doc` };
  if (parameter.kind === 'boolean') return [html('input', { ...common, type: 'checkbox' })];
  if (parameter.kind === 'choice') return [html('select', common, ...parameter.choices.map((name) => html('option', {}, name)))];
  if (parameter.kind !== 'number' && parameter.kind !== 'integer') return [html('input', { ...common, type: 'text' })];
  const limits = { step: 'any' };
  if (parameter.lo !== null) limits.min = parameter.lo;
  if (parameter.hi !== null) limits.max = parameter.hi;
  const field = html('input', { ...common, type: 'number', ...limits });
  const ends = endsOf(parameter, Number(parameter.value));
  return [field, html('input', { type: 'range', id: `${id}-slider`, 'aria-label': label, ...ends, step: stepOf(parameter, ends) })];
}

function read(parameter, input) {
  if (parameter.kind === 'boolean') return input.checked;
  if (parameter.kind === 'number' || parameter.kind === 'integer') return input.value === '' ? null : Number(input.value);
  if (parameter.kind !== 'list') return input.value;
  try {
    return JSON.parse(input.value);
  } catch {
    return input.value;
  }
}

// A slider whose end is not the parameter's goes on growing.
function stretch(parameter, input, value) {
  const ends = endsOf(parameter, Number(value));
  if (ends.max > Number(input.max) || ends.min < Number(input.min)) Object.assign(input, ends, { step: stepOf(parameter, ends) });
}

function write(parameter, input, value) {
  if (input.type === 'range') stretch(parameter, input, value);
  if (parameter.kind === 'boolean') input.checked = value === true;
  else input.value = parameter.kind === 'list' ? JSON.stringify(value) : value ?? '';
}

export class Parameters {
  // send(parameter, value) gives a promise of null or of what is wrong.
  constructor(parent, send) {
    Object.assign(this, { parent, send, rows: [] });
  }

  begin(parameters, maySteer) {
    this.rows = parameters.map((parameter, k) => this.row(parameter, `parameter-${k}`, maySteer));
    if (this.rows.length) this.parent.replaceChildren(...this.rows.map((row) => row.element));
  }

  row(parameter, id, maySteer) {
    const name = `${parameter.gadget}.${parameter.name}`;
    const label = parameter.unit ? `${name}, in ${parameter.unit}` : name;
    const inputs = inputsOf(parameter, id, label);
    const wrong = html('p', { class: 'wrong', role: 'alert' });
    const range = parameter.lo !== null && parameter.hi !== null ? ` (${parameter.lo} to ${parameter.hi})` : parameter.lo !== null ? ` (from ${parameter.lo})` : '';
    const element = html('div', { class: 'parameter', 'data-parameter': name },
      html('label', { class: 'name', for: id }, parameter.unit ? `${name} [${parameter.unit}]` : name), inputs[0],
      ...inputs.slice(1), html('p', { class: 'doc', id: `${id}-doc` }, `${parameter.doc}${range}.`), wrong);
    const row = { parameter, inputs, element, wrong, isBusy: false };
    for (const input of inputs) {
      input.disabled = !maySteer;
      input.addEventListener('input', () => {
        row.isBusy = true; // what the program says meanwhile does not move it from under the finger
        wrong.textContent = '';
        for (const other of inputs) if (other !== input) other.value = input.value;
      });
      input.addEventListener('change', async () => {
        wrong.textContent = (await this.send(parameter, read(parameter, input))) ?? '';
        row.isBusy = false;
      });
    }
    this.write(row, parameter.value);
    return row;
  }

  // The program's value stands again, and so nothing is wrong any more.
  write(row, value) {
    row.wrong.textContent = '';
    for (const input of row.inputs) write(row.parameter, input, value);
  }

  // As they are now, by this page or another.
  show(values) {
    values.forEach((value, k) => {
      const row = this.rows[k];
      if (row && !row.isBusy && !row.inputs.includes(document.activeElement)) this.write(row, value);
    });
  }
}
// SPDX-License-Identifier: Apache-2.0
