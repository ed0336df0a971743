import { projectId, silentLog } from '@eph/contract';
import { onTestFinished } from 'vitest';
import { type EmulatorOptions, GithubEmulator, type RepositoryOptions } from '../../../test/parts/github/github-emulator.ts';
import { createGithubForge, type GithubForgeOptions } from './github-forge.ts';

export interface GithubHarnessOptions {
  readonly github?: EmulatorOptions;
  readonly repository?: RepositoryOptions;
  readonly forge?: Partial<GithubForgeOptions>;
}

/** A repository `acme/shop` and a forge that reads it with a token, until the test ends. */
export const startGithubHarness = async ({ github: emulator, repository: made, forge: changed }: GithubHarnessOptions = {}) => {
  const github = await GithubEmulator.start(emulator);
  const repository = github.createRepository('acme/shop', { private: true, ...made });
  const token = github.createToken();
  const create = (more: Partial<GithubForgeOptions> = {}) =>
    createGithubForge({
      project: projectId('shop'),
      baseUrl: github.url,
      owner: 'acme',
      repository: 'shop',
      auth: { token },
      now: Date.now,
      random: Math.random,
      log: silentLog,
      maxWaitMs: 0,
      timeoutMs: 10_000,
      ...changed,
      ...more,
    });
  const forge = create();
  const abort = new AbortController();
  onTestFinished(async () => {
    abort.abort();
    await forge[Symbol.asyncDispose]();
    await github.stop();
  });
  /** Opens pull requests from new branches; their numbers begin at 1. */
  const openPulls = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      repository.push(`change-${index + 1}`, {}, { message: `Change ${index + 1}` });
      return repository.openPullRequest({ head: `change-${index + 1}` });
    });
  return { github, repository, token, forge, create, openPulls, signal: abort.signal };
};
