import type { Handlers } from '../api/handlers.ts';

/** Not what the route says. */
export const handlers: Handlers<'readHealth'> = { readHealth: () => ({ status: 'fine' }) };
