import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { EphError } from '@eph/contract';

export const loopback = '127.0.0.1';

const attempts = 200;

/** The loopback ports of this provider's instances. Each instance has its own, even while it does not run. */
export class Ports {
  readonly #taken = new Set<number>();
  readonly #range: { readonly first: number; readonly last: number };

  constructor(range: { readonly first: number; readonly last: number }) {
    this.#range = range;
  }

  claim(port: number): void {
    this.#taken.add(port);
  }

  release(port: number): void {
    this.#taken.delete(port);
  }

  /** Claims a free port. At random, so that several providers on one machine rarely choose the same. */
  async choose(): Promise<number> {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const port = randomInt(this.#range.first, this.#range.last + 1);
      if (this.#taken.has(port)) continue;
      this.claim(port);
      if (await isFree(port)) return port;
      this.release(port);
    }
    throw new EphError(
      'port.unavailable',
      `There is no free port between ${this.#range.first} and ${this.#range.last}. Stop other programs there, or widen the range.`,
    );
  }
}

export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: loopback, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
