import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { GithubForge } from '@eph/adapters/forge-github/github-forge';
import { createGithubServer } from '@eph/adapters/forge-github/github-server';
import type { GitlabForge } from '@eph/adapters/forge-gitlab/gitlab-forge';
import { createGitlabServer } from '@eph/adapters/forge-gitlab/gitlab-server';
import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { projectId, silentLog } from '@eph/contract';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { GitlabEmulator } from '../parts/gitlab/gitlab-emulator.ts';
import { atMost, type Figure, median, reported } from './figure.ts';

const owner = 'acme';
const repositories = 500;
const pullRequestsEach = 10;
const projectsOfGroup = 200;
const rounds = 3;
/** The number of concurrent requests that the gate of one identity allows. */
const atOnce = 16;

/** A pass over unchanged repositories: rate limit points and requests at GitHub, memory and time in Eph. */
export const measureGithubIdle = async (): Promise<readonly Figure[]> => {
  // The rate limit of an installation in a large organisation.
  await using github = await GithubEmulator.start({ rateLimit: { core: 12_500 } });
  github.populate({ owner, repositories, pullRequestsEach, labels: (pull) => (pull === 1 ? ['preview'] : []) });
  const names = Array.from({ length: repositories }, (_, index) => `service-${String(index + 1).padStart(4, '0')}`);
  // First, so that the emulator has filled its own caches before the memory of the forges is measured.
  const askPlainly = await createPlainReader(github, names);
  await askPlainly();
  const before = heldBytes(github);
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-idle-'));
  const forges = createForges(github, folder, names);
  await readAll(forges);
  const after = heldBytes(github);

  const ours: number[] = [];
  const plain: number[] = [];
  let points = 0;
  let requests = 0;
  for (let round = 0; round < rounds; round += 1) {
    github.requests.clear();
    ours.push(await timed(() => readAll(forges)));
    const { total } = github.requests;
    points += total.points;
    requests += total.requests;
    if (total.notModified !== repositories) throw new Error(`not only unchanged answers: ${JSON.stringify(total)}`);
    plain.push(await timed(askPlainly));
  }
  await Promise.all(forges.map((forge) => forge[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true, force: true });
  return [
    atMost('forge-idle-cost', points / rounds, 0, 'points'),
    // One to the API and one for Git.
    atMost('forge-idle-requests', requests / rounds / repositories, 2, 'per repository'),
    reported('forge-idle-memory', (after - before) / repositories / 1024, 'KiB per repository'),
    reported('forge-idle-time', median(ours) / median(plain)),
  ];
};

const createForges = (github: GithubEmulator, folder: string, names: readonly string[]): readonly GithubForge[] => {
  const app = github.createApp();
  const auth = { appId: app.id, privateKey: app.privateKey, installationId: app.install(owner).id };
  const server = createGithubServer({ baseUrl: github.url, auth, now: Date.now, random: Math.random, log: silentLog });
  const connect = (name: string) =>
    server.connect({ ...shippedComments, project: projectId(name), location: `${owner}/${name}`, folder: join(folder, name) });
  return names.map((name) => connect(name).forge);
};

const readAll = async (forges: readonly GithubForge[]): Promise<void> => {
  const { signal } = new AbortController();
  let found = 0;
  await forEach(forges, async (forge) => {
    const { items, complete, faults } = await forge.sources(signal);
    if (!complete) throw new Error(`${forge.project} was not read completely: ${JSON.stringify(faults)}`);
    found += items.filter(({ ref }) => ref.kind === 'pr').length;
  });
  if (found !== repositories * pullRequestsEach) throw new Error(`${found} pull requests were found`);
};

/** A pass over the projects of a GitLab group, where one request covers all of them. */
export const measureGroupIdle = async (): Promise<readonly Figure[]> => {
  // Long before the first pass, so that no change is recent.
  let ago = 3_600_000;
  await using gitlab = await GitlabEmulator.start({ now: () => Date.now() - ago });
  const alice = gitlab.person('alice');
  const paths = Array.from({ length: projectsOfGroup }, (_, index) => `${owner}/service-${index + 1}`);
  for (const path of paths) {
    await alice.createProject(path);
    for (let made = 0; made < pullRequestsEach; made += 1) gitlab.addMergeRequest(path, { author: alice, sha: 'a'.repeat(40) });
  }
  ago = 0;
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-idle-'));
  const forges = createGroupForges(gitlab, folder, paths);
  await passOver(forges);
  gitlab.requests.clear();
  for (let round = 0; round < rounds; round += 1) await passOver(forges);
  const { requests } = gitlab.requests.total;
  alice.label({ project: `${owner}/service-1`, iid: 1 }, 'preview');
  if ((await passOver(forges)) !== 1) throw new Error('a label was not seen');
  await Promise.all(forges.map((forge) => forge[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true, force: true });
  return [reported('forge-idle-requests-group', requests / rounds / projectsOfGroup, 'per repository')];
};

const createGroupForges = (gitlab: GitlabEmulator, folder: string, paths: readonly string[]): readonly GitlabForge[] => {
  const token = gitlab.groupToken(owner);
  const server = createGitlabServer({ baseUrl: gitlab.url, token, now: Date.now, random: Math.random, log: silentLog });
  const shared = server.createSharedChanges(owner);
  const connect = (location: string, index: number) =>
    server.connect({
      ...shippedComments,
      project: projectId(`service-${index + 1}`),
      location,
      folder: join(folder, String(index)),
      shared,
    });
  return paths.map((path, index) => connect(path, index).forge);
};

/** How many merge requests have a label. */
const passOver = async (forges: readonly GitlabForge[]): Promise<number> => {
  const { signal } = new AbortController();
  // One group reading serves every request as of the same time, so two passes must not begin in the same millisecond.
  await delay(2);
  const asOf = Date.now();
  let found = 0;
  let labelled = 0;
  await forEach(forges, async (forge) => {
    const { items, complete, faults } = await forge.sources(signal, asOf);
    if (!complete) throw new Error(`${forge.project} was not read completely: ${JSON.stringify(faults)}`);
    found += items.length;
    labelled += items.filter(({ pull }) => pull?.labels.length !== 0).length;
  });
  if (found !== projectsOfGroup * pullRequestsEach) throw new Error(`${found} merge requests were found`);
  return labelled;
};

/** The baseline: one `fetch` per repository with the `ETag` of the previous answer. */
const createPlainReader = async (github: GithubEmulator, names: readonly string[]): Promise<() => Promise<void>> => {
  const authorization = `token ${github.createToken({ by: 'octocat' })}`;
  const urlOf = (name: string): string =>
    `${github.url}/repos/${owner}/${name}/pulls?state=open&sort=created&direction=desc&per_page=100&page=1`;
  const tags = new Map<string, string>();
  await forEach(names, async (name) => {
    const response = await fetch(urlOf(name), { headers: { authorization } });
    await response.arrayBuffer();
    tags.set(name, response.headers.get('etag') ?? '');
  });
  return () =>
    forEach(names, async (name) => {
      const response = await fetch(urlOf(name), { headers: { authorization, 'if-none-match': tags.get(name) ?? '' } });
      await response.arrayBuffer();
      if (response.status !== 304) throw new Error(`${name} was answered with ${response.status}`);
    });
};

/** Runs at most `atOnce` at the same time. */
const forEach = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const left = items.values();
  const row = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, row));
};

const heldBytes = (github: GithubEmulator): number => {
  github.requests.clear();
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  for (let round = 0; round < 3; round += 1) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const timed = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
