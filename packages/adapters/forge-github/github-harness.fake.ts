import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId, silentLog } from '@eph/contract';
import { onTestFinished } from 'vitest';
import { type EmulatorOptions, GithubEmulator, type RepositoryOptions } from '../../../test/parts/github/github-emulator.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { ConnectOptions } from '../forge-http/forge-server.ts';
import type { GithubForge } from './github-forge.ts';
import type { GithubIdentityOptions } from './github-identity.ts';
import { createGithubServer } from './github-server.ts';

export interface GithubHarnessOptions {
  readonly github?: EmulatorOptions;
  readonly repository?: RepositoryOptions;
  readonly server?: Partial<GithubIdentityOptions>;
}

/** A repository `acme/shop` and a forge that reads it with a token, until the test ends. */
export const startGithubHarness = async ({ github: emulator, repository: made, server: changed }: GithubHarnessOptions = {}) => {
  const github = await GithubEmulator.start(emulator);
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-github-'));
  const repository = github.createRepository('acme/shop', { private: true, ...made });
  const token = github.createToken();
  const forges: GithubForge[] = [];
  /** As ephd does it. */
  const createServer = (more: Partial<GithubIdentityOptions> = {}) => {
    const common = { baseUrl: github.url, auth: { token }, now: Date.now, random: Math.random, log: silentLog };
    const server = createGithubServer({ ...common, ...changed, ...more });
    const connect = (changes: Partial<ConnectOptions> = {}) => {
      const where = { project: projectId('shop'), location: 'acme/shop', folder: join(folder, String(forges.length)) };
      const connected = server.connect({ ...shippedComments, ...where, ...changes });
      forges.push(connected.forge);
      return connected;
    };
    return { ...server, connect };
  };
  const create = (more: Partial<GithubIdentityOptions> = {}) => createServer(more).connect().forge;
  const { connect } = createServer();
  const { forge } = connect();
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
  return {
    github,
    repository,
    token,
    folder,
    forge,
    connect,
    create,
    createServer,
    readPulls,
    openPulls,
    countApiRequests,
    signal,
  };
};

/** Does this once, between the first page of a list and the second. */
export const betweenPages = ({ requests }: GithubEmulator, act: () => void): void => {
  requests.observe = ({ path }) => {
    if (!/[?&]page=1$/.test(path)) return;
    requests.observe = () => undefined;
    act();
  };
};
