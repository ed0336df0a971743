import type { Route } from '@eph/contract';

/** Who may use it is left out. */
export const route = {
  method: 'GET',
  path: '/api/v1/secrets',
  target: 'server',
  summary: 'Lists secrets.',
  answer: { type: 'none' },
} as const satisfies Route;
