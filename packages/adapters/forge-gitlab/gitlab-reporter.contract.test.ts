import { commentMarker, commitSha } from '@eph/contract';
import { describeCommentReporter } from '@eph/engine/report/comment-reporter.contract';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { renderMarkdown } from '@eph/engine/report/markdown';
import type { Report } from '@eph/engine/report/reporter';
import { describe } from 'vitest';
import { createGitlabReporter } from './gitlab-reporter.ts';
import { createWorkshop, path } from './gitlab-workshop.fake.ts';

const shown = (report: Report): string => renderMarkdown(report.view, { marker: commentMarker(report.environment) });

describe('notes on merge requests of GitLab', () => {
  describeCommentReporter(async () => {
    const { front, forge, gitlab, alice, ...workshop } = await createWorkshop();
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
      writes: async () => front.requests.filter((line) => /^(?:POST|PUT|DELETE) \S+\/notes(?:\/\d+)?$/.test(line)).length,
      async disconnect() {
        front.isCut = true;
      },
      async reconnect() {
        front.isCut = false;
      },
      [Symbol.asyncDispose]: () => workshop[Symbol.asyncDispose](),
    };
  });
});
