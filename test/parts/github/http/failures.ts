import { seededRandom } from '../../../chaos/seeded-random.ts';

/** A way in which an answer goes wrong. */
export type Failure =
  /** The connection stays open and silent. */
  | { readonly kind: 'no-answer' }
  | { readonly kind: 'reset' }
  /** Half the body, then either a broken connection or a proper end. */
  | { readonly kind: 'truncated'; readonly ending: 'broken' | 'clean' }
  /** 200 and nothing in it, where there is something. */
  | { readonly kind: 'empty-page' }
  /** A search that says it did not look everywhere. */
  | { readonly kind: 'incomplete-results' }
  /** An error page of the load balancer, which is no JSON. */
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'secondary-limit'; readonly status: 403 | 429; readonly retryAfterSeconds?: number }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'skewed-date'; readonly byMs: number };

export interface FailureRule {
  readonly failure: Failure;
  /** Every request if left out. */
  readonly match?: {
    readonly method?: string;
    /** Of the path with its query, without the base path of Enterprise. */
    readonly path?: RegExp;
    /** For instance `pulls/list`. */
    readonly operation?: string;
  };
  /** From 0 to 1; always if left out. */
  readonly probability?: number;
  /** How often at most; without end if left out. */
  readonly times?: number;
  /** The request takes effect and only its answer is lost. */
  readonly takesEffect?: boolean;
}

export interface FailureSubject {
  readonly method: string;
  readonly path: string;
  readonly operation: string | undefined;
}

interface Armed {
  readonly rule: FailureRule;
  left: number;
}

/** Failures on command. With one seed and requests in one order, the same ones fail. */
export class Failures {
  readonly #random: () => number;
  #armed: Armed[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Returns how to take the rule back. */
  add(rule: FailureRule): () => void {
    const armed = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#armed.push(armed);
    return () => {
      this.#armed = this.#armed.filter((other) => other !== armed);
    };
  }

  clear(): void {
    this.#armed = [];
  }

  /** The first rule that fits and whose lot falls. */
  pick(subject: FailureSubject): FailureRule | undefined {
    for (const armed of this.#armed) {
      if (armed.left <= 0 || !fits(armed.rule, subject)) continue;
      if ((armed.rule.probability ?? 1) <= this.#random()) continue;
      armed.left -= 1;
      return armed.rule;
    }
    return undefined;
  }
}

const fits = ({ match }: FailureRule, { method, path, operation }: FailureSubject): boolean =>
  (match?.method === undefined || match.method === method) &&
  (match?.path === undefined || match.path.test(path)) &&
  (match?.operation === undefined || match.operation === operation);
