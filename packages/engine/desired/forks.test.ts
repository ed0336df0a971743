import { type Approval, type Command, completeReading, failure, incompleteReading } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideFork, forkModes } from './forks.ts';
import { anySource, command, otherCommit, pullRequest, source } from './source.fake.ts';

const foreign = pullRequest({ fork: 'mallory/shop', author: 'mallory' });
const approval: Approval = { author: 'alice', at: '2026-01-01T00:00:00.000Z' };
const approved = { approvals: completeReading([approval]) };
const nobody = { approvals: completeReading<Approval>([]), commands: completeReading<Command>([]) };
const commented = (...commands: readonly Command[]) => ({ ...nobody, commands: completeReading(commands) });

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

  it('gets the configuration of the repository in mode base, whoever approves', () => {
    for (const facts of [undefined, approved])
      expect(decideFork('base', foreign, facts)).toMatchObject({ state: 'allowed', trust: 'base' });
  });

  it('gets its own in mode approve, once its commit is approved', () => {
    expect(decideFork('approve', foreign, approved)).toMatchObject({
      state: 'allowed',
      trust: 'commit',
      because: expect.stringContaining('alice approved commit 000000000000'),
    });
    expect(decideFork('approve', foreign, nobody)).toMatchObject({
      state: 'denied',
      because: expect.stringContaining('nobody with write access has approved commit 000000000000'),
    });
  });

  it('is neither allowed nor denied while the approvals are not known', () => {
    const fault = failure('forge.unreachable', 'no answer');
    expect(decideFork('approve', foreign)).toMatchObject({ state: 'unknown', fault: { code: 'forge.incomplete' } });
    const [approvals, commands] = [incompleteReading<Approval>([], fault), incompleteReading<Command>([], fault)];
    for (const facts of [
      { ...nobody, approvals },
      { ...nobody, commands },
    ])
      expect(decideFork('approve', foreign, facts)).toMatchObject({ state: 'unknown', fault });
    expect(decideFork('approve', foreign, { approvals: incompleteReading([approval], fault) })).toMatchObject({
      state: 'allowed',
    });
  });

  it('is approved by a comment that names its whole commit', () => {
    expect(decideFork('approve', foreign, commented(command(`/deploy ${foreign.commit} please`)))).toMatchObject({
      state: 'allowed',
      trust: 'commit',
      because: expect.stringContaining('alice approved commit 000000000000'),
    });
  });

  it.each([
    ['no commit', '/deploy'],
    ['the beginning of the commit', `/deploy ${foreign.commit.slice(0, 12)}`],
    ['all of the commit but one character', `/deploy ${foreign.commit.slice(0, -1)}`],
    ['more than the commit', `/deploy ${foreign.commit}0`],
    ['another commit, as after a push between review and comment', `/deploy ${otherCommit}`],
    ['the commit after something else', `/deploy now ${foreign.commit}`],
  ])('is not approved by a comment that names %s, and the line to write is known', (_, text) => {
    const asked = command(text);
    expect(decideFork('approve', foreign, commented(asked))).toMatchObject({
      state: 'denied',
      short: { command: asked, line: `/deploy ${foreign.commit}` },
    });
  });

  it.each<readonly [string, Command]>([
    ['somebody without write access', command(`/deploy ${foreign.commit}`, { mayWrite: false })],
    ['somebody who wrote it before the commit was the head', command(`/deploy ${foreign.commit}`, { commit: otherCommit })],
    ['a comment whose head is unknown', command(`/deploy ${foreign.commit}`, { commit: null })],
    ['another command', command(`/close ${foreign.commit}`)],
  ])('is not approved by %s, and nobody is answered', (_, asked) => {
    const decision = decideFork('approve', foreign, commented(asked));
    expect(decision).toMatchObject({ state: 'denied' });
    expect(decision).not.toHaveProperty('short');
  });

  it('never trusts the commit of a fork without approval, whatever its names are', () => {
    fc.assert(
      fc.property(anySource, fc.constantFrom(...forkModes), (any, mode) => {
        const judgement = decideFork(mode, any, nobody);
        const isForeign = any.pull !== undefined && any.pull.fork !== null;
        expect(judgement.state === 'allowed' && judgement.trust === 'commit').toBe(!isForeign);
        expect(judgement.because.length).toBeLessThan(1000);
        expect(judgement.because).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
