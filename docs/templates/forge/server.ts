import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TokenServerOptions } from '@eph/adapters/forge-http/forge-http';
import type { ConnectOptions, ForgeServer } from '@eph/adapters/forge-http/forge-server';
import { failure, incompleteReading } from '@eph/contract';
import { createTemplateApi } from './api.ts';
import { createTemplateForge } from './forge.ts';
import { createTemplateReporter } from './reporter.ts';

/** What all repositories of one configured forge share is created here once: credentials, rate limits and caches. */
export const createTemplateServer = ({ baseUrl, log }: TokenServerOptions) =>
  ({
    connect(repository: ConnectOptions) {
      const folder = join(baseUrl, repository.location);
      const api = createTemplateApi(folder);
      const forge = createTemplateForge({ ...repository, log, location: pathToFileURL(folder).href, api });
      return { forge, reporter: createTemplateReporter(api) };
    },
    readRepositories: (owner) =>
      Promise.resolve(incompleteReading([], failure('forge.refused', `The repositories of ${owner} cannot be listed here.`))),
    budgets: () => [],
  }) satisfies ForgeServer;
