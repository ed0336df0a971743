import type { Route } from '@eph/contract';

/** No role has it. */
export const route = {
  method: 'GET',
  path: '/api/v1/secrets',
  permission: 'secrets.read',
  target: 'server',
  summary: 'Lists secrets.',
  answer: { type: 'none' },
} as const satisfies Route;
