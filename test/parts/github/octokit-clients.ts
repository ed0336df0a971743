import { createAppAuth } from '@octokit/auth-app';
import { Octokit } from '@octokit/core';
import type { EmulatedApp, EmulatedInstallation } from './control/emulated-app.ts';
import type { GithubEmulator } from './github-emulator.ts';

/** Many tests expect refusals, and octokit would log each of them. */
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** The real client with a personal token, or without authentication. */
export const octokitFor = (github: GithubEmulator, token?: string): Octokit =>
  new Octokit({ baseUrl: github.url, log: silent, ...(token === undefined ? {} : { auth: token }) });

/** The real client as an App: its own token for `/app`, tokens of the installation for everything else. */
export const octokitForApp = (github: GithubEmulator, app: EmulatedApp, installation?: EmulatedInstallation): Octokit =>
  new Octokit({
    baseUrl: github.url,
    log: silent,
    authStrategy: createAppAuth,
    auth: {
      appId: app.id,
      privateKey: app.privateKey,
      ...(installation === undefined ? {} : { installationId: installation.id }),
    },
  });
