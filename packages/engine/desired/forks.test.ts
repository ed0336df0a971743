import { type Approval, completeReading, failure, incompleteReading } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideFork, forkModes } from './forks.ts';
import { anySource, pullRequest, source } from './source.fake.ts';

const foreign = pullRequest({ fork: 'mallory/shop', author: 'mallory' });
const approval: Approval = { author: 'alice', at: '2026-01-01T00:00:00.000Z' };
const approved = completeReading([approval]);

describe.each(forkModes)('in mode %s', (mode) => {
  it('what is in the repository itself is trusted', () => {
    for (const own of [source('branch', 'main'), source('tag', 'v1'), pullRequest()])
      expect(decideFork(mode, own)).toMatchObject({ state: 'allowed', trust: 'commit' });
  });

  it('nothing is trusted of which nobody knows where it comes from', () => {
    const { pull: _, ...unknown } = pullRequest();
    expect(decideFork(mode, unknown, approved)).toMatchObject({ state: 'unknown' });
  });
});

describe('a pull request from a fork', () => {
  it('gets nothing in mode deny, whoever approves', () => {
    expect(decideFork('deny', foreign, approved)).toEqual({
      state: 'denied',
      because: 'pull request 7 comes from the fork mallory/shop, and this project does not allow environments for forks',
    });
  });

  it('gets the configuration of its base in mode base, whoever approves', () => {
    for (const approvals of [undefined, approved])
      expect(decideFork('base', foreign, approvals)).toMatchObject({ state: 'allowed', trust: 'base' });
  });

  it('gets its own in mode approve, once its commit is approved', () => {
    expect(decideFork('approve', foreign, approved)).toMatchObject({
      state: 'allowed',
      trust: 'commit',
      because: expect.stringContaining('alice approved commit 000000000000'),
    });
    expect(decideFork('approve', foreign, completeReading([]))).toMatchObject({
      state: 'denied',
      because: expect.stringContaining('nobody with write access has approved commit 000000000000'),
    });
  });

  it('is neither allowed nor denied while the approvals are not known', () => {
    const fault = failure('forge.unreachable', 'no answer');
    expect(decideFork('approve', foreign)).toMatchObject({ state: 'unknown', fault: { code: 'forge.incomplete' } });
    expect(decideFork('approve', foreign, incompleteReading([], fault))).toMatchObject({ state: 'unknown', fault });
    expect(decideFork('approve', foreign, incompleteReading([approval], fault))).toMatchObject({ state: 'allowed' });
  });

  it('never trusts the commit of a fork without approval, whatever its names are', () => {
    fc.assert(
      fc.property(anySource, fc.constantFrom(...forkModes), (any, mode) => {
        const judgement = decideFork(mode, any, completeReading([]));
        const isForeign = any.pull !== undefined && any.pull.fork !== null;
        expect(judgement.state === 'allowed' && judgement.trust === 'commit').toBe(!isForeign);
        expect(judgement.because.length).toBeLessThan(1000);
        expect(judgement.because).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
