import type { Resolver } from './resolver.ts';

/** Components that run from the repository: the artifact is the tree of the commit and always exists. */
export const commitTreeResolver: Resolver = {
  resolve: (source) => Promise.resolve({ state: 'found', artifact: `tree:${source.commit}` }),
};
