import { type CommitSha, commitSha, projectId, type SourceRef, silentLog } from '@eph/contract';
import { type CommentReporterHarness, describeCommentReporter } from '@eph/engine/report/comment-reporter.contract';
import { describe } from 'vitest';
import { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { GithubAuth } from './github-identity.ts';
import { createGithubServer } from './github-server.ts';

const project = projectId('shop');

const createHarness = async (authorize: (github: GithubEmulator) => GithubAuth): Promise<CommentReporterHarness> => {
  const github = await GithubEmulator.start();
  const repository = github.createRepository('acme/shop');
  const pullOf = ({ source }: { readonly source: SourceRef }) => repository.pullRequest(Number(source.name));
  let pushes = 0;
  const push = (branch: string): CommitSha => {
    pushes += 1;
    return commitSha(repository.push(branch, { 'a.txt': String(pushes) }));
  };
  return {
    project,
    start() {
      const options = { baseUrl: github.url, now: Date.now, random: Math.random, log: silentLog };
      const server = createGithubServer({ ...options, auth: authorize(github) });
      return server.connect({ ...shippedComments, project, location: 'acme/shop', folder: '/dev/null/none' }).reporter;
    },
    openPull() {
      const branch = `feature-${pushes + 1}`;
      const commit = push(branch);
      const { number } = repository.openPullRequest({ head: branch });
      return Promise.resolve({ source: { kind: 'pr', name: String(number) }, commit });
    },
    push: (pull) => Promise.resolve(push(`feature-${pullOf(pull).number}`)),
    comments: (pull) =>
      Promise.resolve(
        pullOf(pull)
          .comments()
          .map(({ id, body }) => ({ id: String(id), body })),
      ),
    shown: shippedComments.renderComment,
    comment: (pull, body) => Promise.resolve(String(pullOf(pull).comment(body, { by: 'mallory' }))),
    remove: (pull, id) => Promise.resolve(pullOf(pull).deleteComment(Number(id))),
    addManyComments(pull) {
      for (let count = 0; count < 101; count += 1) pullOf(pull).comment(`me too ${count}`, { by: 'mallory' });
      return Promise.resolve();
    },
    writes: () =>
      Promise.resolve(
        github.requests.entries.filter(({ operation, status }) => status < 300 && commentChanges.has(operation ?? '')).length,
      ),
    disconnect: () => Promise.resolve(void github.failures.add({ failure: { kind: 'status', status: 503 } })),
    reconnect: () => Promise.resolve(github.failures.clear()),
    [Symbol.asyncDispose]: () => github.stop(),
  };
};

const commentChanges = new Set(['issues/create-comment', 'issues/update-comment', 'issues/delete-comment']);

describe('comments on pull requests of GitHub, as an App', () => {
  let app: { readonly id: number; readonly privateKey: string; readonly github: GithubEmulator } | undefined;
  describeCommentReporter(() =>
    createHarness((github) => {
      if (app?.github !== github) {
        const made = github.createApp();
        made.install('acme');
        app = { id: made.id, privateKey: made.privateKey, github };
      }
      return { appId: app.id, privateKey: app.privateKey };
    }),
  );
});

describe('comments on pull requests of GitHub, with a token', () => {
  describeCommentReporter(() => createHarness((github) => ({ token: github.createToken() })));
});
