import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId, silentLog } from '@eph/contract';
import { onTestFinished } from 'vitest';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import type { Person } from '../../../test/parts/gitlab/person.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { ConnectOptions } from '../forge-http/forge-server.ts';
import { createGitlabServer } from './gitlab-server.ts';

type Connected = ReturnType<ReturnType<typeof createGitlabServer>['connect']>;

export const path = 'acme/web/shop';

/** As ephd does it, with Eph's token. */
export const connectGitlab = (url: string, token: string, options: GitlabConnectOptions = {}): Connected => {
  const { now = Date.now, ...changes } = options;
  return createGitlabServer({ baseUrl: url, token, now, random: () => 0, log: silentLog }).connect({
    ...shippedComments,
    project: projectId('shop'),
    location: path,
    // No test that uses it may run Git.
    folder: '/dev/null/none',
    ...changes,
  });
};

export interface GitlabConnectOptions extends Partial<ConnectOptions> {
  readonly now?: () => number;
}

/** For what Git keeps, until the test ends. */
export const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-gitlab-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** An emulated GitLab for one test, with a project, people and Eph's forge. */
export interface GitlabHarness extends Connected, AsyncDisposable {
  readonly gitlab: GitlabEmulator;
  /** As after a restart. */
  connect(changes?: Partial<ConnectOptions>): Connected;
  readonly token: string;
  readonly folder: string;
  /** Owns the project. */
  readonly alice: Person;
  /** Maintains it. */
  readonly bob: Person;
  /** May read it. */
  readonly mallory: Person;
}

/** Empty, or with a branch `main` that holds `README.md`. */
export const createGitlabHarness = async ({
  isEmpty = false,
  ...options
}: GitlabConnectOptions & { readonly isEmpty?: boolean } = {}): Promise<GitlabHarness> => {
  const gitlab = await GitlabEmulator.start();
  const [alice, bob, mallory] = [gitlab.person('alice'), gitlab.person('bob'), gitlab.person('mallory')];
  await alice.createProject(path, { visibility: 'public', ...(isEmpty ? {} : { files: { 'README.md': 'Read me.\n' } }) });
  alice.invite(path, bob, 'maintainer');
  const token = gitlab.projectToken(path, 'maintainer');
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-gitlab-'));
  const connected: Connected[] = [];
  const connect = (changes: Partial<ConnectOptions> = {}): Connected => {
    const made = connectGitlab(gitlab.url, token, { folder: join(folder, String(connected.length)), ...options, ...changes });
    connected.push(made);
    return made;
  };
  return {
    ...connect(),
    connect,
    gitlab,
    token,
    folder,
    alice,
    bob,
    mallory,
    async [Symbol.asyncDispose]() {
      for (const { forge } of connected) await forge[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
      await gitlab[Symbol.asyncDispose]();
    },
  };
};

/** Since the last call: `GET /projects/acme%2Fshop/merge_requests?page=1`. */
export const takeApiRequests = ({ requests }: GitlabEmulator): readonly string[] => {
  const lines = requests.entries.map(({ method, path: target }) => `${method} ${target}`);
  requests.clear();
  return lines.filter((line) => line.includes(' /api/v4/')).map((line) => line.replace('/api/v4', ''));
};

/** Lets contract suites disconnect the server. */
export const connectionsTo = ({ failures }: GitlabEmulator) => {
  let reconnect = (): void => undefined;
  return {
    async disconnect() {
      reconnect = failures.add({ failure: { kind: 'reset' } });
    },
    reconnect: async () => reconnect(),
  };
};
