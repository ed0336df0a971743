import { failure } from '@eph/contract';
import { describe } from 'vitest';
import { describeResolver } from './resolver.contract.ts';
import { FakeResolver } from './resolver.fake.ts';

describe('the fake resolver', () => {
  describeResolver(() => {
    const resolver = new FakeResolver();
    return Promise.resolve({
      resolver,
      now: () => 0,
      publish: (commit, content) => Promise.resolve(resolver.publish(commit, content)),
      expire: () => {},
      silence: () => {
        resolver.away = failure('registry.unreachable', 'no answer');
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
