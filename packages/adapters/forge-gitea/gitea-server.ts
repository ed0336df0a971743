import { createApiOptions, type TokenServerOptions } from '../forge-http/forge-http.ts';
import { type ConnectOptions, type ForgeServer, splitLocation } from '../forge-http/forge-server.ts';
import { budgetOf } from '../forge-http/gate.ts';
import { createGiteaForge } from './gitea-forge.ts';
import { createGiteaReporter } from './gitea-reporter.ts';
import { createOwnerChanges } from './owner-changes.ts';
import { readRepositories } from './repositories.ts';

export const createGiteaServer = (options: TokenServerOptions) => {
  const api = createApiOptions(options, 'a forge');
  return {
    connect(repository: ConnectOptions) {
      const forge = createGiteaForge({ ...api, ...repository, ...splitLocation(repository.location) });
      return { forge, reporter: createGiteaReporter({ ...repository, client: forge.client }) };
    },
    readRepositories: (owner, signal) => readRepositories(api, owner, signal),
    createSharedChanges: (owner) => createOwnerChanges(api, owner),
    budgets: () => budgetOf('', api.gate),
  } satisfies ForgeServer;
};
