import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commitSha, projectId, type SourceRef, silentLog } from '@eph/contract';
import { describePulls, type PullsHarness } from '@eph/engine/source/pulls.contract';
import { describe } from 'vitest';
import { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import { createGithubServer } from './github-server.ts';

const people = { author: 'alice', maintainer: 'bob', outsider: 'mallory' };

const createHarness = async (): Promise<PullsHarness> => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const github = await GithubEmulator.start({ now });
  const repository = github.createRepository('acme/shop', { by: people.author });
  for (const login of [people.author, people.maintainer]) repository.grant(login, 'write');
  const fork = repository.fork(people.outsider);
  const app = github.createApp();
  app.install('acme');
  const folder = await mkdtemp(join(tmpdir(), 'eph-forge-github-'));
  const options = {
    baseUrl: github.url,
    auth: { appId: app.id, privateKey: app.privateKey },
    now,
    random: Math.random,
    log: silentLog,
  };
  const { forge } = createGithubServer(options).connect({
    ...shippedComments,
    project: projectId('shop'),
    location: 'acme/shop',
    folder: join(folder, 'data'),
  });
  const pull = ({ name }: SourceRef) => repository.pullRequest(Number(name));
  const ref = (number: number): SourceRef => ({ kind: 'pr', name: String(number) });
  /** GitHub tells times in seconds. */
  const act = <T>(work: () => T): Promise<T> => {
    aheadMs += 1_000;
    return Promise.resolve(work());
  };
  return {
    forge,
    people,
    commit: (branch, files, onto) =>
      act(() => commitSha(repository.push(branch, files, onto === undefined ? {} : { from: onto }))),
    openPullRequest: ({ head, title }) => act(() => ref(repository.openPullRequest({ head, title, by: people.author }).number)),
    edit: (name, { draft, ...edit }) =>
      act(() => {
        if (draft === true) pull(name).convertToDraft();
        if (draft === false) pull(name).markReady();
        pull(name).edit(edit);
      }),
    label: (name, label) => act(() => pull(name).label(label)),
    unlabel: (name, label) => act(() => pull(name).unlabel(label)),
    comment: (name, by, text) => act(() => void pull(name).comment(text, { by: people[by] })),
    approve: (name, by) => act(() => pull(name).review('APPROVED', { by: people[by] })),
    setCheck: (commit, { name: context, state, text }) =>
      act(() => repository.setStatus(commit, state, { context, ...(text === '' ? {} : { description: text }) })),
    close: (name) => act(() => pull(name).close()),
    reopen: (name) => act(() => pull(name).reopen()),
    countReactions: (name, { id }) =>
      act(
        () =>
          pull(name)
            .comments()
            .find((comment) => String(comment.id) === id)?.reactions.length ?? 0,
      ),
    disconnect: () => act(() => void github.failures.add({ failure: { kind: 'status', status: 502 } })),
    reconnect: () => act(() => github.failures.clear()),
    fork: {
      name: fork.fullName,
      commit: (branch, files) => act(() => commitSha(fork.push(branch, files, { by: people.outsider }))),
      openPullRequest: ({ head, title }) =>
        act(() => ref(repository.openPullRequest({ head: `${people.outsider}:${head}`, title, by: people.outsider }).number)),
    },
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await github.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

describe('the pull requests of github.com, as an App', () => {
  describePulls(createHarness);
});
