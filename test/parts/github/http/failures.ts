/** How an answer fails. */
export type Failure =
  /** The connection stays open and silent. */
  | { readonly kind: 'no-answer' }
  | { readonly kind: 'reset' }
  /** Half the body, then either a broken connection or a proper end. */
  | { readonly kind: 'truncated'; readonly ending: 'broken' | 'clean' }
  /** Status 200 with an empty list, although there are items. */
  | { readonly kind: 'empty-page' }
  /** An error page of the load balancer, which is no JSON. */
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'secondary-limit'; readonly status: 403 | 429; readonly retryAfterSeconds?: number }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'skewed-date'; readonly byMs: number };
