import type { Api } from '@eph/contract';

/** Not a phase. */
export const list = (api: Api): unknown => api.listEnvironments({ query: { phase: ['Sleeping'] } });
