import type { Handlers } from '../api/handlers.ts';

/** Nobody is known on a route that takes no permission. */
export const handlers: Handlers<'readHealth'> = {
  readHealth: ({ caller }) => ({ status: caller.may('tokens.manage') ? 'ok' : 'ok' }),
};
