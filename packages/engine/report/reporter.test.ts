import { createHash } from 'node:crypto';
import { commitSha, EphError, projectId } from '@eph/contract';
import { describe } from 'vitest';
import { describeReporter } from './reporter.contract.ts';
import { FakeReporter } from './reporter.fake.ts';

describe('the fake reporter', () => {
  describeReporter(() => {
    let connected = true;
    let commits = 0;
    const reporter = new FakeReporter({
      disturb: () => (connected ? Promise.resolve() : Promise.reject(new EphError('report.failed', 'no answer'))),
    });
    return Promise.resolve({
      reporter,
      project: projectId('shop'),
      commit: () => {
        commits += 1;
        return Promise.resolve(commitSha(createHash('sha1').update(String(commits)).digest('hex')));
      },
      seen: ({ environment, commit }) => {
        const report = reporter.reports.get(environment);
        return Promise.resolve(report?.commit === commit ? report.text : undefined);
      },
      writes: () => Promise.resolve(reporter.writes),
      disconnect: () => {
        connected = false;
        return Promise.resolve();
      },
      reconnect: () => {
        connected = true;
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
