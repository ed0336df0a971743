import { commitSha } from '@eph/contract';
import { describe } from 'vitest';
import { describeRenderer } from './renderer.contract.ts';
import { FakeRenderer } from './renderer.fake.ts';

describe('the fake renderer', () => {
  describeRenderer(() => {
    const renderer = new FakeRenderer();
    let commits = 0;
    const next = () => commitSha(String((commits += 1)).padStart(40, '0'));
    return Promise.resolve({
      renderer,
      commit(workloads) {
        const commit = next();
        renderer.describe(commit, workloads);
        return Promise.resolve(commit);
      },
      commitSpoiled() {
        const commit = next();
        renderer.spoil(commit);
        return Promise.resolve(commit);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
