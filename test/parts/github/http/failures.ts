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
