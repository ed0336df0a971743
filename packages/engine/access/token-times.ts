/** No token is valid for longer. */
export const longestLifetimeMs = 365 * 24 * 60 * 60_000;

/** How much the clocks of two machines may differ. */
export const clockToleranceMs = 60_000;

/** How long a revocation is kept after its tokens have expired. A clock that is wrong by less than this revives none. */
export const revocationMarginMs = 30 * 24 * 60 * 60_000;
