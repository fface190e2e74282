// The estimates that lie behind: which there are, which is looked at, and those that were fetched.
import { parseEstimate } from './estimate.js';

export class Past {
  constructor() {
    this.clear();
  }

  clear() {
    Object.assign(this, { entries: [], chosen: null, fetched: new Map(), isOver: false });
  }

  get isLive() {
    return this.chosen === null;
  }

  // As the program lists them: [number, iteration, subset, seconds] each. Once the run is over, what was not fetched
  // cannot be any more.
  update(list, isOver) {
    this.isOver = isOver;
    if (isOver) list = list.filter((entry) => this.fetched.has(entry[0]));
    this.entries = list.map(([number, iteration, subset, seconds]) => ({ number, iteration, subset, seconds }));
    const there = new Set(list.map((entry) => entry[0]));
    for (const number of this.fetched.keys()) if (!there.has(number) && number !== this.chosen?.number) this.fetched.delete(number);
    this.fetchNext();
  }

  // By its place in the list; behind the last one is the live one.
  choose(place) {
    this.chosen = this.entries[place] ?? null;
  }

  async load() {
    const wanted = this.chosen;
    const estimate = await this.fetch(wanted.number);
    return wanted === this.chosen ? estimate : null;
  }

  async fetch(number) {
    if (!this.fetched.has(number)) {
      const answer = fetch(`past/${number}`).then(async (response) => (response.status === 200 ? parseEstimate(await response.arrayBuffer()) : null));
      this.fetched.set(number, answer.catch(() => null));
    }
    const estimate = await this.fetched.get(number);
    if (!estimate) this.fetched.delete(number);
    return estimate;
  }

  // When nothing is being fetched any more.
  settled() {
    return Promise.allSettled(this.fetched.values());
  }

  // One after the other, so that they are there when the slider moves, and after the run has ended.
  async fetchNext() {
    if (this.isFetching || this.isOver || document.hidden) return;
    const next = this.entries.find((entry) => !this.fetched.has(entry.number));
    if (!next) return;
    this.isFetching = true;
    const estimate = await this.fetch(next.number);
    this.isFetching = false;
    if (estimate) this.fetchNext();
  }
}
// SPDX-License-Identifier: Apache-2.0
