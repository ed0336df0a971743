import { createApiOptions, type TokenServerOptions } from '../forge-http/forge-http.ts';
import type { ConnectOptions, ForgeServer } from '../forge-http/forge-server.ts';
import { budgetOf } from '../forge-http/gate.ts';
import { createGitlabForge } from './gitlab-forge.ts';
import { createGitlabReporter } from './gitlab-reporter.ts';
import { createGroupChanges } from './group-changes.ts';
import { readRepositories } from './repositories.ts';

export const createGitlabServer = (options: TokenServerOptions) => {
  const api = createApiOptions(options, 'a GitLab');
  return {
    connect(repository: ConnectOptions) {
      const forge = createGitlabForge({ ...api, ...repository, path: repository.location });
      return { forge, reporter: createGitlabReporter({ ...repository, client: forge.client }) };
    },
    readRepositories: (owner, signal) => readRepositories(api, owner, signal),
    createSharedChanges: (owner) => createGroupChanges(api, owner),
    budgets: () => budgetOf('', api.gate),
  } satisfies ForgeServer;
};
