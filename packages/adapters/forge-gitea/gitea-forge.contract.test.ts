import { setTimeout as delay } from 'node:timers/promises';
import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { describeForge, type ForgeHarness } from '@eph/engine/source/forge.contract';
import { describePulls, type PullsHarness } from '@eph/engine/source/pulls.contract';
import { beforeAll, describe, expect } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaRepository, StatusState } from '../../../test/parts/gitea-repository.ts';
import { Origin } from '../forge-git/origin.fake.ts';
import { fullName } from '../forge-git/refs.ts';
import { type GiteaFixture, GiteaHarness } from './gitea-harness.fake.ts';

const connections = ({ proxy }: GiteaFixture) => ({
  disconnect: () => {
    proxy.isDisconnected = true;
    return Promise.resolve();
  },
  reconnect: () => {
    proxy.isDisconnected = false;
    return Promise.resolve();
  },
});

/** Commits are made in a repository of this machine and pushed from there. */
const createForgeHarness = async (harness: GiteaHarness): Promise<ForgeHarness> => {
  const [fixture, origin] = [await harness.createFixture({ isEmpty: true }), await Origin.create()];
  const { name, token } = harness.alice;
  const address = fixture.repository.cloneUrl.replace('://', `://${name}:${token}@`);
  const push = async (...refspecs: readonly string[]): Promise<void> => {
    await origin.git('push', '--quiet', '--force', address, ...refspecs);
  };
  return {
    forge: fixture.forge,
    async push(ref, files) {
      const commit = await origin.push(ref, files);
      await push(`${fullName(ref)}:${fullName(ref)}`);
      return commit;
    },
    async annotate(tag, commit) {
      await origin.annotate(tag, commit);
      await push(`refs/tags/${tag}:refs/tags/${tag}`);
    },
    async writeNotes(notes, texts, fanOut) {
      await origin.writeNotes(notes, texts, fanOut);
      await push(`refs/notes/${notes}:refs/notes/${notes}`);
    },
    deleteNotes: (notes) => push(`:refs/notes/${notes}`),
    countRequests: () => fixture.proxy.requests.length,
    async delete(ref) {
      await push(`:${fullName(ref)}`).catch(async () => {
        // Gitea does not let go of the branch that it shows first.
        await push(`${fullName(ref)}:refs/heads/trunk`);
        await fixture.repository.send('PATCH', '', { default_branch: 'trunk' });
        await push(`:${fullName(ref)}`);
      });
    },
    ...connections(fixture),
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

const patience = { timeout: 60_000, interval: 50 };

const createPullsHarness = async (harness: GiteaHarness): Promise<PullsHarness> => {
  const fixture = await harness.createFixture();
  const { repository, forge } = fixture;
  const { alice, bob, mallory } = harness;
  const users = { author: alice, maintainer: bob, outsider: mallory };
  let fork: Promise<GiteaRepository> | undefined;
  const known = new Set<string>();
  const opened: { readonly branch: string; readonly ref: SourceRef }[] = [];

  /** A push is over once the forge has noted it in the history of the pull requests that it belongs to. */
  const expectNoted = async (branch: string, commit: CommitSha): Promise<void> => {
    for (const { ref } of opened.filter((one) => one.branch === branch)) {
      const isNoted = async (): Promise<boolean> => {
        const events = await repository.send<{ readonly type: string; readonly body: string }[] | null>(
          'GET',
          `/issues/${ref.name}/timeline`,
        );
        return (events ?? []).some(({ type, body }) => type === 'pull_push' && body.includes(commit));
      };
      await expect.poll(isNoted, patience).toBe(true);
    }
  };
  const commitTo = async (
    target: GiteaRepository,
    key: string,
    branch: string,
    files: Parameters<PullsHarness['commit']>[1],
    onto?: string,
  ): Promise<CommitSha> => {
    const changes = Object.fromEntries(Object.entries(files).map(([path, content]) => [path, content ?? undefined]));
    const commit = commitSha(await target.pushFiles(branch, changes, onto === undefined ? {} : { onto }));
    await expectNoted(key, commit);
    return commit;
  };
  const open = async (by: GiteaRepository, head: string, key: string, title: string): Promise<SourceRef> => {
    const { number } = await by.openPullRequest(head, title);
    const ref: SourceRef = { kind: 'pr', name: String(number) };
    opened.push({ branch: key, ref });
    return ref;
  };
  const number = (ref: SourceRef): number => Number(ref.name);

  return {
    forge,
    people: { author: alice.name, maintainer: bob.name, outsider: mallory.name },
    commit: (branch, files, onto) => commitTo(repository.as(alice), branch, branch, files, onto),
    openPullRequest: ({ head, title }) => open(repository.as(alice), head, head, title),
    async edit(ref, { draft, ...changes }) {
      const { title } = await repository.readPullRequest(number(ref));
      const renamed = draft === undefined ? {} : { title: draft ? `WIP: ${title}` : title.replace(/^WIP: /, '') };
      await repository.editPullRequest(number(ref), { ...changes, ...renamed });
    },
    async label(ref, label) {
      if (!known.has(label)) await repository.createLabel(label);
      known.add(label);
      await repository.addLabels(number(ref), label);
    },
    unlabel: (ref, label) => repository.removeLabel(number(ref), label),
    async comment(ref, by, text) {
      await delay(1_000 - (Date.now() % 1_000));
      await repository.as(users[by]).addComment(number(ref), text);
    },
    approve: (ref, by) => repository.as(users[by]).addReview(number(ref), 'APPROVED'),
    setCheck: (commit, { name, state, text }) => repository.as(bob).setStatus(commit, state satisfies StatusState, name, text),
    close: async (ref) => void (await repository.closePullRequest(number(ref))),
    reopen: async (ref) => void (await repository.reopenPullRequest(number(ref))),
    async countReactions(_ref, { id }) {
      return (await repository.send<unknown[] | null>('GET', `/issues/comments/${id}/reactions`))?.length ?? 0;
    },
    ...connections(fixture),
    fork: {
      name: `${mallory.name}/${repository.name}`,
      async commit(branch, files) {
        fork ??= repository.as(mallory).fork();
        return await commitTo(await fork, `${mallory.name}:${branch}`, branch, files);
      },
      openPullRequest: ({ head, title }) => {
        const key = `${mallory.name}:${head}`;
        return open(repository.as(mallory), key, key, title);
      },
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
};

describeWith(gitea, 'a repository of Gitea', () => {
  let harness: GiteaHarness;
  beforeAll(async () => {
    harness = await GiteaHarness.start();
  });

  describe('as a forge', () => {
    describeForge({ notices: false }, () => createForgeHarness(harness));
  });

  describe('with pull requests', () => {
    describePulls(() => createPullsHarness(harness));
  });
});
