import { seededRandom } from '../../chaos/seeded-random.ts';

/** What goes wrong on the wire. */
export type Fault =
  /** The connection stays open and silent. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'reset' }
  /** The connection breaks in the middle of the body. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'slow'; readonly delayMs: number };

/** How an answer fails, independent of the service. */
export type Failure =
  /** The connection stays open and silent. */
  | { readonly kind: 'no-answer' }
  | { readonly kind: 'reset' }
  /** Half the body, then either a broken connection or a proper end. */
  | { readonly kind: 'truncated'; readonly ending: 'broken' | 'clean' }
  /** Status 200 with an empty list, although there are items. */
  | { readonly kind: 'empty-page' }
  /** Another answer: an error page of the load balancer if no body is given. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | { readonly kind: 'slow'; readonly delayMs: number };

export interface FailureRule<F = Failure> {
  readonly failure: F;
  /** Every request if left out. */
  readonly match?: {
    readonly method?: string;
    /** Of the path with its query, as the emulated service sees it. */
    readonly path?: RegExp;
    /** The name that counters use, for instance `GET /projects/:id` or `pulls/list`. */
    readonly operation?: string;
  };
  /** From 0 to 1; always if left out. */
  readonly probability?: number;
  /** At most this often; without limit if left out. */
  readonly times?: number;
  /** The request takes effect; only its answer is lost. */
  readonly takesEffect?: boolean;
}

export interface FailureSubject {
  readonly method: string;
  readonly path: string;
  readonly operation: string | undefined;
}

interface Armed<F> {
  readonly rule: FailureRule<F>;
  left: number;
}

/** Injects failures. With the same seed and the same order of requests, the same ones fail. */
export class Failures<F = Failure> {
  readonly #random: () => number;
  #armed: Armed<F>[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Returns a function that removes the rule. */
  add(rule: FailureRule<F>): () => void {
    const armed = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#armed.push(armed);
    return () => {
      this.#armed = this.#armed.filter((other) => other !== armed);
    };
  }

  clear(): void {
    this.#armed = [];
  }

  /** The first rule that matches and whose probability applies. */
  pick(subject: FailureSubject): FailureRule<F> | undefined {
    for (const armed of this.#armed) {
      if (armed.left <= 0 || !fits(armed.rule, subject)) continue;
      if ((armed.rule.probability ?? 1) <= this.#random()) continue;
      armed.left -= 1;
      return armed.rule;
    }
    return undefined;
  }
}

const fits = ({ match }: Pick<FailureRule, 'match'>, { method, path, operation }: FailureSubject): boolean =>
  (match?.method === undefined || match.method === method) &&
  (match?.path === undefined || match.path.test(path)) &&
  (match?.operation === undefined || match.operation === operation);
