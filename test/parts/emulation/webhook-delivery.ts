/** One webhook as it left the emulated service. */
export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface DeliveryRecord extends Delivery {
  /** The status of the receiver, the reason for a missing answer, or that nothing was sent. */
  readonly outcome: number | 'lost' | { readonly error: string };
}

/**
 * Sends webhooks in order, one at a time. Forges guarantee neither order nor delivery, so tests may drop them, hold them back or
 * send one again.
 */
export class WebhookDelivery implements AsyncDisposable {
  /** `lost` drops webhooks; `held` keeps them until the mode changes. */
  #mode: 'deliver' | 'held' | 'lost' = 'deliver';
  readonly #timeoutMs: number;
  readonly #records: DeliveryRecord[] = [];
  readonly #closing = new AbortController();
  #waiting: Delivery[] = [];
  #running: Promise<void> | undefined;

  constructor(timeoutMs = 10_000) {
    this.#timeoutMs = timeoutMs;
  }

  get records(): readonly DeliveryRecord[] {
    return this.#records;
  }

  set mode(mode: 'deliver' | 'held' | 'lost') {
    this.#mode = mode;
    this.#run();
  }

  send(delivery: Delivery): void {
    if (this.#mode === 'lost') {
      this.#records.push({ ...delivery, outcome: 'lost' });
      return;
    }
    this.#waiting.push(delivery);
    this.#run();
  }

  /** Resolves once every webhook that is not held has been answered or has failed. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting = [];
    this.#closing.abort();
    await this.settled();
  }

  #run(): void {
    if (this.#mode === 'held' || this.#running !== undefined || this.#waiting.length === 0) return;
    this.#running = this.#drain().finally(() => {
      this.#running = undefined;
      // More may have been queued since the last check.
      this.#run();
    });
  }

  async #drain(): Promise<void> {
    while (this.#mode !== 'held') {
      const delivery = this.#waiting.shift();
      if (delivery === undefined) return;
      this.#records.push({ ...delivery, outcome: await this.#post(delivery) });
    }
  }

  async #post({ url, headers, body }: Delivery): Promise<DeliveryRecord['outcome']> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(this.#timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
      await response.arrayBuffer();
      return response.status;
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  }
}
