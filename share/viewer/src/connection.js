// The WebSocket to the program: messages in, requests with their answers out, and again when it was cut.

export class Connection {
  // on: {hello, state, image (an ArrayBuffer), open, closed}
  constructor(on) {
    Object.assign(this, { on, answers: new Map(), next: 1, isOver: false });
    this.open();
  }

  open() {
    this.socket = new WebSocket(`ws://${location.host}/live`);
    this.socket.binaryType = 'arraybuffer';
    this.socket.onmessage = (event) => this.take(event.data);
    this.socket.onopen = () => this.on.open();
    this.socket.onclose = () => {
      for (const answer of this.answers.values()) answer('the program is not there any more');
      this.answers.clear();
      this.on.closed();
      if (!this.isOver) setTimeout(() => this.open(), 1500);
    };
  }

  take(data) {
    if (typeof data !== 'string') return this.on.image(data);
    const message = JSON.parse(data);
    if (message.type === 'answer') {
      this.answers.get(message.id)?.(message.ok ? null : message.error);
      this.answers.delete(message.id);
    } else {
      if (message.ended) this.isOver = true;
      this.on[message.type]?.(message);
    }
  }

  // Of null, or of what is wrong.
  ask(message) {
    if (this.socket.readyState !== WebSocket.OPEN) return Promise.resolve('there is no connection');
    const id = this.next++;
    return new Promise((resolve) => {
      this.answers.set(id, resolve);
      this.socket.send(JSON.stringify({ ...message, id }));
    });
  }

  // The program waits for this before it closes its door.
  leave() {
    this.socket.close();
  }

  tell(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
// SPDX-License-Identifier: Apache-2.0
