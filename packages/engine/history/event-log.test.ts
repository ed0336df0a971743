import { describe } from 'vitest';
import { describeEventLog } from './event-log.contract.ts';
import { FakeEventLog } from './event-log.fake.ts';

describe('the fake event log', () => {
  describeEventLog(() => {
    const log = new FakeEventLog({ bufferLimit: 100 });
    return Promise.resolve({
      log,
      bufferLimit: 100,
      fail: () => Promise.resolve(log.fail()),
      recover: () => Promise.resolve(log.recover()),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });
});
