import { createHash } from 'node:crypto';
import { type CommitSha, commentMarker, commitSha, projectId, sourceKey } from '@eph/contract';
import { describe } from 'vitest';
import { describeCommentReporter } from './comment-reporter.contract.ts';
import { FakePulls, fakeCommentReporter } from './comment-reporter.fake.ts';
import { renderMarkdown } from './markdown.ts';
import type { Report } from './reporter.ts';

const shown = (report: Report): string => renderMarkdown(report.view, { marker: commentMarker(report.environment) });

describe('the fake reporter that comments', () => {
  describeCommentReporter(() => {
    const pulls = new FakePulls();
    let [opened, commits] = [0, 0];
    const commit = (): CommitSha => {
      commits += 1;
      return commitSha(createHash('sha1').update(String(commits)).digest('hex'));
    };
    return Promise.resolve({
      project: projectId('shop'),
      start: () => fakeCommentReporter(pulls, shown),
      openPull: () => {
        opened += 1;
        return Promise.resolve({ source: { kind: 'pr', name: String(opened) }, commit: commit() });
      },
      push: () => Promise.resolve(commit()),
      comments: ({ source }) => Promise.resolve(pulls.comments(sourceKey(source)).map(({ id, body }) => ({ id, body }))),
      shown,
      comment: ({ source }, body) => Promise.resolve(pulls.comment(sourceKey(source), 'somebody', body)),
      remove: ({ source }, id) => Promise.resolve(pulls.remove(sourceKey(source), id)),
      addManyComments: ({ source }) => {
        for (let index = 0; index < 120; index += 1) pulls.comment(sourceKey(source), 'somebody', `me too ${index}`);
        return Promise.resolve();
      },
      writes: () => Promise.resolve(pulls.writes),
      disconnect: () => {
        pulls.connected = false;
        return Promise.resolve();
      },
      reconnect: () => {
        pulls.connected = true;
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
