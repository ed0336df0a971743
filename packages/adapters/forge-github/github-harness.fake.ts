import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId, silentLog } from '@eph/contract';
import { onTestFinished } from 'vitest';
import { type EmulatorOptions, GithubEmulator, type RepositoryOptions } from '../../../test/parts/github/github-emulator.ts';
import { createGithubForge, type GithubForge, type GithubForgeOptions } from './github-forge.ts';

export interface GithubHarnessOptions {
  readonly github?: EmulatorOptions;
  readonly repository?: RepositoryOptions;
  readonly forge?: Partial<GithubForgeOptions>;
}

/** A repository `acme/shop` and a forge that reads it with a token, until the test ends. */
export const startGithubHarness = async ({ github: emulator, repository: made, forge: changed }: GithubHarnessOptions = {}) => {
  const github = await GithubEmulator.start(emulator);
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-github-'));
  const repository = github.createRepository('acme/shop', { private: true, ...made });
  const token = github.createToken();
  const forges: GithubForge[] = [];
  const create = (more: Partial<GithubForgeOptions> = {}) => {
    const forge = createGithubForge({
      project: projectId('shop'),
      baseUrl: github.url,
      owner: 'acme',
      repository: 'shop',
      auth: { token },
      folder: join(folder, String(forges.length)),
      now: Date.now,
      random: Math.random,
      log: silentLog,
      maxWaitMs: 0,
      timeoutMs: 10_000,
      ...changed,
      ...more,
    });
    forges.push(forge);
    return forge;
  };
  const forge = create();
  const abort = new AbortController();
  const { signal } = abort;
  onTestFinished(async () => {
    abort.abort();
    await Promise.all(forges.map((one) => one[Symbol.asyncDispose]()));
    await github.stop();
    await rm(folder, { recursive: true, force: true });
  });
  /** A reading without branches and tags. */
  const readPulls = async (from: GithubForge = forge) => {
    const reading = await from.sources(signal);
    return { ...reading, items: reading.items.filter(({ ref }) => ref.kind === 'pr') };
  };
  /** Opens pull requests from new branches; their numbers begin at 1. */
  const openPulls = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      repository.push(`change-${index + 1}`, {}, { message: `Change ${index + 1}` });
      return repository.openPullRequest({ head: `change-${index + 1}` });
    });
  /** The requests to the API since they were cleared, without those of Git. */
  const countApiRequests = () => github.requests.entries.filter(({ path }) => !path.includes('.git/')).length;
  return { github, repository, token, folder, forge, create, readPulls, openPulls, countApiRequests, signal };
};
