import { type Isolation, providerName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { pullRequest, source } from '../desired/source.fake.ts';
import { refuseUntrusted } from './isolation.ts';

const branch = source('branch', 'x');
const fork = pullRequest({ fork: 'mallory/shop' });
const own = pullRequest({ fork: null });
const on = (isolation: Isolation) => [{ name: providerName('process'), isolation }];
const sandboxed = on({ state: 'sandboxed' });
const trusted = on({ state: 'trusted', because: 'bwrap is missing; install the package bubblewrap' });

describe('a provider without a sandbox', () => {
  it('runs what a trusted project has in its own repository', () => {
    expect([branch, own].flatMap((one) => refuseUntrusted(one, true, trusted))).toEqual([]);
  });

  it('runs no pull request from a fork, whoever trusts its project', () => {
    expect(refuseUntrusted(fork, true, trusted)).toMatchObject([
      {
        code: 'isolation.missing',
        disposition: 'stall',
        message:
          'provider process has no sandbox, so it runs no pull requests from forks: bwrap is missing; install the package bubblewrap',
      },
    ]);
  });

  it('runs no project that its operator does not trust', () => {
    expect(refuseUntrusted(branch, false, trusted)).toMatchObject([
      { message: expect.stringContaining('only projects with `trusted: true` in the file of ephd: bwrap is missing') },
    ]);
  });
});

describe('a provider with a sandbox', () => {
  it('runs everything', () => {
    expect([branch, own, fork].flatMap((one) => refuseUntrusted(one, false, sandboxed))).toEqual([]);
  });
});
