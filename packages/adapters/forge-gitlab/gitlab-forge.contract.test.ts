import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { describeForge, type ForgeHarness } from '@eph/engine/source/forge.contract';
import { describePulls, type PullsHarness } from '@eph/engine/source/pulls.contract';
import { describe } from 'vitest';
import type { MergeRequestAt, Person } from '../../../test/parts/gitlab/person.ts';
import { Origin } from '../forge-git/origin.fake.ts';
import { fullName } from '../forge-git/refs.ts';
import { connectionsTo, createGitlabHarness, path } from './gitlab-harness.fake.ts';

/** Commits are made in a repository of this machine and pushed from there. */
const createForgeHarness = async (): Promise<ForgeHarness> => {
  const [harness, origin] = [await createGitlabHarness({ isEmpty: true }), await Origin.create()];
  const { gitlab, alice } = harness;
  const address = `${gitlab.url.replace('://', `://alice:${gitlab.personalToken(alice)}@`)}/${path}.git`;
  const push = async (...refspecs: readonly string[]): Promise<void> => {
    await origin.git('push', '--quiet', '--force', address, ...refspecs);
  };
  return {
    forge: harness.forge,
    async push(ref, files) {
      const commit = await origin.push(ref, files);
      await push(`${fullName(ref)}:${fullName(ref)}`);
      return commit;
    },
    async annotate(tag, commit) {
      await origin.annotate(tag, commit);
      await push(`refs/tags/${tag}:refs/tags/${tag}`);
    },
    delete: (ref) => push(`:${fullName(ref)}`),
    async writeNotes(notes, texts, fanOut) {
      await origin.writeNotes(notes, texts, fanOut);
      await push(`refs/notes/${notes}:refs/notes/${notes}`);
    },
    deleteNotes: (notes) => push(`:refs/notes/${notes}`),
    countRequests: () => harness.gitlab.requests.total.requests,
    ...connectionsTo(gitlab),
    async [Symbol.asyncDispose]() {
      await harness[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

const createPullsHarness = async (): Promise<PullsHarness> => {
  const harness = await createGitlabHarness();
  const { gitlab, forge, alice, bob, mallory } = harness;
  const people = { author: alice, maintainer: bob, outsider: mallory };
  const forkPath = 'mallory/shop';
  const forkId = await mallory.fork(path, forkPath);

  const at = ({ name }: SourceRef): MergeRequestAt => ({ project: path, iid: Number(name) });
  const commit = async (
    by: Person,
    project: string,
    branch: string,
    files: Parameters<PullsHarness['commit']>[1],
    onto?: CommitSha,
  ): Promise<CommitSha> => {
    const sha = onto === undefined ? by.push(project, branch, files) : by.forcePush(project, branch, files, onto);
    return commitSha(await sha);
  };
  const open = async (by: Person, from: string, head: string, title: string): Promise<SourceRef> => {
    const { iid } = await by.openMergeRequest(path, { source: head, from, title });
    return { kind: 'pr', name: String(iid) };
  };

  return {
    forge,
    people: { author: alice.username, maintainer: bob.username, outsider: mallory.username },
    commit: (branch, files, onto) => commit(alice, path, branch, files, onto),
    openPullRequest: ({ head, title }) => open(alice, path, head, title),
    async edit(ref, { title, draft, base }) {
      if (title !== undefined) alice.rename(at(ref), title);
      if (draft !== undefined) alice[draft ? 'markDraft' : 'markReady'](at(ref));
      if (base !== undefined) alice.retarget(at(ref), base);
    },
    label: async (ref, label) => alice.label(at(ref), label),
    unlabel: async (ref, label) => alice.unlabel(at(ref), label),
    comment: async (ref, by, text) => void people[by].comment(at(ref), text),
    async approve(ref, by) {
      try {
        people[by].approve(at(ref));
      } catch (error) {
        if (by !== 'outsider') throw error;
      }
    },
    async setCheck(sha, { name, state, text }) {
      const description = text === '' ? {} : { description: text };
      const body = JSON.stringify({ name, state: state === 'failure' ? 'failed' : state, ref: 'feature', ...description });
      const headers = { 'private-token': gitlab.personalToken(bob), 'content-type': 'application/json' };
      const address = `${gitlab.url}/api/v4/projects/${encodeURIComponent(path)}/statuses/${sha}`;
      const answer = await fetch(address, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(await answer.text());
    },
    close: async (ref) => alice.close(at(ref)),
    reopen: async (ref) => alice.reopen(at(ref)),
    countReactions: async (ref, { id }) => gitlab.read.reactions(at(ref), Number(id)).length,
    ...connectionsTo(gitlab),
    fork: {
      name: `projects/${forkId}`,
      commit: (branch, files) => commit(mallory, forkPath, branch, files),
      openPullRequest: ({ head, title }) => open(mallory, forkPath, head, title),
    },
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
};

describe('a project of GitLab, as a forge', () => {
  describeForge({ notices: false }, createForgeHarness);
});

describe('a project of GitLab, with merge requests', () => {
  describePulls(createPullsHarness);
});
