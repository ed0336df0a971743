import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId, silentLog } from '@eph/contract';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import type { Person } from '../../../test/parts/gitlab/person.ts';
import { createGitlabForge, type GitlabForge, type GitlabForgeOptions } from './gitlab-forge.ts';

export const path = 'acme/web/shop';

/** A GitLab for one test, with a project, the people around it, and what Eph sees of it. */
export interface GitlabFixture extends AsyncDisposable {
  readonly gitlab: GitlabEmulator;
  readonly forge: GitlabForge;
  readonly token: string;
  readonly folder: string;
  /** Owns the project. */
  readonly alice: Person;
  /** Maintains it. */
  readonly bob: Person;
  /** May read it. */
  readonly mallory: Person;
}

export interface FixtureOptions extends Partial<GitlabForgeOptions> {
  readonly isEmpty?: boolean;
}

/** Empty, or with a branch `main` that holds `README.md`. */
export const createFixture = async ({ isEmpty = false, ...options }: FixtureOptions = {}): Promise<GitlabFixture> => {
  const gitlab = await GitlabEmulator.start();
  const [alice, bob, mallory] = [gitlab.person('alice'), gitlab.person('bob'), gitlab.person('mallory')];
  await alice.createProject(path, { visibility: 'public', ...(isEmpty ? {} : { files: { 'README.md': 'Read me.\n' } }) });
  alice.invite(path, bob, 'maintainer');
  const token = gitlab.projectToken(path, 'maintainer');
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-gitlab-'));
  const forge = createGitlabForge({
    project: projectId('shop'),
    baseUrl: gitlab.url,
    path,
    token,
    folder: join(folder, 'data'),
    now: Date.now,
    random: Math.random,
    log: silentLog,
    ...options,
  });
  return {
    gitlab,
    forge,
    token,
    folder,
    alice,
    bob,
    mallory,
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
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

/** How contract suites take a server away and give it back. */
export const connectionsTo = ({ failures }: GitlabEmulator) => {
  let reconnect = (): void => undefined;
  return {
    async disconnect() {
      reconnect = failures.add({ failure: { kind: 'reset' } });
    },
    reconnect: async () => reconnect(),
  };
};
