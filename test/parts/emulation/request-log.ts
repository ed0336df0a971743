/** One request as the emulated service saw it. */
export interface LoggedRequest {
  readonly at: number;
  readonly id: string;
  readonly method: string;
  /** With its query, as it was sent. */
  readonly path: string;
  /** The route with its parameters still named, for instance `GET /projects/:id`. */
  readonly operation: string | undefined;
  /** Whose rate limit was charged. */
  readonly budget: string | undefined;
  /** 0 where no answer was given. */
  readonly status: number;
  /** Of the rate limit. */
  readonly points: number;
  /** It carried `If-None-Match`. */
  readonly conditional: boolean;
  /** The failure that was injected. */
  readonly failure: string | undefined;
}

export interface RequestCounters {
  readonly requests: number;
  readonly notModified: number;
  readonly points: number;
  readonly failures: number;
}

// Long runs need only the counters.
const kept = 50_000;
const nothing: RequestCounters = { requests: 0, notModified: 0, points: 0, failures: 0 };

/** Every request since the start or the last `clear`; the counters include all of them, the list only the most recent. */
export class RequestLog {
  /** Called after each request, before the next one of the same client. */
  observe: (request: LoggedRequest) => void = () => undefined;
  #entries: LoggedRequest[] = [];
  readonly #counters = new Map<string, RequestCounters>();

  get entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  get total(): RequestCounters {
    return [...this.#counters.values()].reduce(sum, nothing);
  }

  of(operation: string): RequestCounters {
    return this.#counters.get(operation) ?? nothing;
  }

  get byOperation(): ReadonlyMap<string, RequestCounters> {
    return this.#counters;
  }

  add(request: LoggedRequest): void {
    this.#entries.push(request);
    if (this.#entries.length > 2 * kept) this.#entries = this.#entries.slice(-kept);
    const operation = request.operation ?? 'unknown';
    this.#counters.set(
      operation,
      sum(this.of(operation), {
        requests: 1,
        notModified: request.status === 304 ? 1 : 0,
        points: request.points,
        failures: request.failure === undefined ? 0 : 1,
      }),
    );
    this.observe(request);
  }

  clear(): void {
    this.#entries = [];
    this.#counters.clear();
  }
}

const sum = (a: RequestCounters, b: RequestCounters): RequestCounters => ({
  requests: a.requests + b.requests,
  notModified: a.notModified + b.notModified,
  points: a.points + b.points,
  failures: a.failures + b.failures,
});
