import type { Handlers } from '../api/handlers.ts';

/** `readReadiness` is missing. */
export const handlers: Handlers<'readHealth' | 'readReadiness'> = { readHealth: () => ({ status: 'ok' }) };
