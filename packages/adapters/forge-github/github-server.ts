import { type ConnectOptions, type ForgeServer, splitLocation } from '../forge-http/forge-server.ts';
import { createGithubForge } from './github-forge.ts';
import { createGithubIdentity, type GithubIdentityOptions } from './github-identity.ts';
import { createGithubReporter } from './github-reporter.ts';
import { readRepositories } from './repositories.ts';

export const createGithubServer = (options: GithubIdentityOptions) => {
  const { now, log } = options;
  const identity = createGithubIdentity(options);
  return {
    connect(repository: ConnectOptions) {
      const forge = createGithubForge({ ...repository, ...splitLocation(repository.location), identity, now, log });
      return { forge, reporter: createGithubReporter({ ...repository, client: forge.client }) };
    },
    readRepositories: (owner, signal) => readRepositories({ identity, now, log }, owner, signal),
    budgets: () => identity.budgets(),
  } satisfies ForgeServer;
};
