import { type CommitSha, commitSha, environmentName } from '@eph/contract';
import { type CommentReporterHarness, describeCommentReporter } from '@eph/engine/report/comment-reporter.contract';
import type { Report } from '@eph/engine/report/reporter';
import { beforeAll } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import { GiteaHarness } from './gitea-harness.fake.ts';

/** No two environments have the same name. */
const withOwnName = (report: Report): Report => ({
  ...report,
  view: { ...report.view, name: environmentName(`shop-calm-bay-${Number.parseInt(report.environment, 16) + 1000}`) },
});

const createHarness = async (harness: GiteaHarness): Promise<CommentReporterHarness> => {
  const fixture = await harness.createFixture();
  const { repository, forge, proxy } = fixture;
  const changes: string[] = [];
  let pushes = 0;
  const push = async (branch: string): Promise<CommitSha> => {
    pushes += 1;
    return commitSha(await repository.as(harness.alice).pushFiles(branch, { 'a.txt': String(pushes) }));
  };
  return {
    project: forge.project,
    start() {
      const { reporter } = fixture.connect();
      return { ...reporter, ensure: (report, signal) => reporter.ensure(withOwnName(report), signal) };
    },
    async openPull() {
      const branch = `feature-${pushes + 1}`;
      const commit = await push(branch);
      const { number } = await repository.as(harness.alice).openPullRequest(branch);
      return { source: { kind: 'pr', name: String(number) }, commit };
    },
    async push({ source }) {
      return await push((await repository.readPullRequest(Number(source.name))).head.ref);
    },
    async comments({ source }) {
      const comments = await repository.readComments(Number(source.name));
      return comments.map(({ id, body }) => ({ id: String(id), body }));
    },
    shown: (report) => shippedComments.renderComment(withOwnName(report)),
    comment: async ({ source }, body) => String((await repository.as(harness.mallory).addComment(Number(source.name), body)).id),
    remove: (_pull, id) => repository.deleteComment(Number(id)),
    async addManyComments({ source }) {
      for (let count = 0; count < 55; count += 1) await repository.addComment(Number(source.name), `${count}`);
    },
    writes() {
      changes.push(...proxy.takeApiRequests().filter((line) => /^(?!GET).*\/comments\b/.test(line)));
      return Promise.resolve(changes.length);
    },
    disconnect: () => {
      proxy.isDisconnected = true;
      return Promise.resolve();
    },
    reconnect: () => {
      proxy.isDisconnected = false;
      return Promise.resolve();
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
};

describeWith(gitea, 'comments on pull requests of Gitea', () => {
  let harness: GiteaHarness;
  beforeAll(async () => {
    harness = await GiteaHarness.start();
  });

  describeCommentReporter(() => createHarness(harness));
});
