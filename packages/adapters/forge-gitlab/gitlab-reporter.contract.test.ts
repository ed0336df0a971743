import { commitSha } from '@eph/contract';
import { describeCommentReporter } from '@eph/engine/report/comment-reporter.contract';
import { describe } from 'vitest';
import type { LoggedRequest } from '../../../test/parts/emulation/request-log.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import { connectionsTo, createGitlabHarness, path } from './gitlab-harness.fake.ts';

/** Of a note, not of a reaction to one, and one that arrived. */
const isNoteWrite = ({ method, path: target, failure }: LoggedRequest): boolean =>
  method !== 'GET' && failure === undefined && /\/notes(?:\/\d+)?$/.test(target);

describe('notes on merge requests of GitLab', () => {
  describeCommentReporter(async () => {
    const { forge, gitlab, alice, ...harness } = await createGitlabHarness();
    let opened = 0;
    const at = ({ source }: { readonly source: { readonly name: string } }) => ({ project: path, iid: Number(source.name) });
    return {
      project: forge.project,
      start: () => harness.connect().reporter,
      async openPull() {
        opened += 1;
        const commit = commitSha(await alice.push(path, `feature-${opened}`, { 'a.txt': String(opened) }));
        const { iid } = await alice.openMergeRequest(path, { source: `feature-${opened}` });
        return { source: { kind: 'pr', name: String(iid) }, commit };
      },
      push: async ({ source, commit }) =>
        commitSha(await alice.push(path, `feature-${source.name}`, { 'b.txt': `after ${commit}` })),
      comments: async (pull) => gitlab.read.comments(at(pull)).map(({ id, body }) => ({ id: String(id), body })),
      shown: shippedComments.renderComment,
      comment: async (pull, body) => String(alice.comment(at(pull), body)),
      remove: async (pull, id) => alice.deleteComment(at(pull), Number(id)),
      async addManyComments(pull) {
        for (let count = 0; count < 120; count += 1) alice.comment(at(pull), `me too ${count}`);
      },
      writes: async () => gitlab.requests.entries.filter(isNoteWrite).length,
      ...connectionsTo(gitlab),
      [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
    };
  });
});
