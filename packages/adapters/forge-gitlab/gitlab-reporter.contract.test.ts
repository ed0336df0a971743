import { commentMarker, commitSha } from '@eph/contract';
import { describeCommentReporter } from '@eph/engine/report/comment-reporter.contract';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { renderMarkdown } from '@eph/engine/report/markdown';
import type { Report } from '@eph/engine/report/reporter';
import { describe } from 'vitest';
import type { LoggedRequest } from '../../../test/parts/emulation/request-log.ts';
import { connectionsTo, createFixture, path } from './gitlab-fixture.fake.ts';
import { createGitlabReporter } from './gitlab-reporter.ts';

const shown = (report: Report): string => renderMarkdown(report.view, { marker: commentMarker(report.environment) });

/** Of a note, not of a reaction to one, and one that arrived. */
const isNoteWrite = ({ method, path: target, failure }: LoggedRequest): boolean =>
  method !== 'GET' && failure === undefined && /\/notes(?:\/\d+)?$/.test(target);

describe('notes on merge requests of GitLab', () => {
  describeCommentReporter(async () => {
    const { forge, gitlab, alice, ...fixture } = await createFixture();
    let opened = 0;
    const at = ({ source }: { readonly source: { readonly name: string } }) => ({ project: path, iid: Number(source.name) });
    return {
      project: forge.project,
      start: () => createGitlabReporter({ client: forge.client, renderComment: shown, computeStatus: computeCommitStatus }),
      async openPull() {
        opened += 1;
        const commit = commitSha(await alice.push(path, `feature-${opened}`, { 'a.txt': String(opened) }));
        const { iid } = await alice.openMergeRequest(path, { source: `feature-${opened}` });
        return { source: { kind: 'pr', name: String(iid) }, commit };
      },
      push: async ({ source, commit }) =>
        commitSha(await alice.push(path, `feature-${source.name}`, { 'b.txt': `after ${commit}` })),
      comments: async (pull) => gitlab.read.comments(at(pull)).map(({ id, body }) => ({ id: String(id), body })),
      shown,
      comment: async (pull, body) => String(alice.comment(at(pull), body)),
      remove: async (pull, id) => alice.deleteComment(at(pull), Number(id)),
      async bury(pull) {
        for (let count = 0; count < 120; count += 1) alice.comment(at(pull), `me too ${count}`);
      },
      writes: async () => gitlab.requests.entries.filter(isNoteWrite).length,
      ...connectionsTo(gitlab),
      [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
    };
  });
});
