/** Items of many who each wait until theirs is taken, so no more than one of each is in memory. */
export class Offers<T> {
  readonly #waiting: { readonly item: T; readonly taken: () => void }[] = [];
  readonly #signal: AbortSignal;
  #wake = (): void => undefined;
  #ended = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Resolves when it was taken, or nobody takes any more. */
  async offer(item: T): Promise<void> {
    if (this.#signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ item, taken: resolve });
    this.#wake();
    await promise;
  }

  /** What was offered before is still taken. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *taken(): AsyncGenerator<T> {
    const wake = (): void => this.#wake();
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      while (!this.#signal.aborted) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          try {
            yield next.item;
          } finally {
            next.taken();
          }
          continue;
        }
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#signal.removeEventListener('abort', wake);
      for (const { taken } of this.#waiting) taken();
    }
  }
}
