import type { Resolver } from './resolver.ts';

/** Components that run from the repository itself: the tree of the commit is the artifact, and it always exists. */
export const commitTreeResolver: Resolver = {
  resolve: (source) => Promise.resolve({ state: 'found', artifact: `tree:${source.commit}` }),
};
