import { type Isolation, providerName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { pullRequest, source } from '../desired/source.fake.ts';
import { refuseUntrusted } from './isolation.ts';

const branch = source('branch', 'x');
const fork = pullRequest({ fork: 'mallory/shop' });
const own = pullRequest({ fork: null });
const plain = { trusted: false, network: 'shared' } as const;
const trusting = { ...plain, trusted: true };
const on = (isolation: Isolation) => [{ name: providerName('process'), isolation }];
const sandboxed = on({ state: 'sandboxed', network: 'shared', lacks: {} });
const trusted = on({ state: 'trusted', because: 'bwrap is missing; install the package bubblewrap' });

describe('a provider without a sandbox', () => {
  it('runs what a trusted project has in its own repository', () => {
    expect([branch, own].flatMap((one) => refuseUntrusted(one, trusting, trusted))).toEqual([]);
  });

  it('runs no pull request from a fork, whoever trusts its project', () => {
    expect(refuseUntrusted(fork, trusting, trusted)).toMatchObject([
      {
        code: 'isolation.missing',
        disposition: 'stall',
        message:
          'provider process has no sandbox, so it runs no pull requests from forks: bwrap is missing; install the package bubblewrap',
      },
    ]);
  });

  it('runs no project that its operator does not trust', () => {
    expect(refuseUntrusted(branch, plain, trusted)).toMatchObject([
      { message: expect.stringContaining('only projects with `trusted: true` in the file of ephd: bwrap is missing') },
    ]);
  });
});

describe('a provider with a sandbox', () => {
  it('runs everything', () => {
    expect([branch, own, fork].flatMap((one) => refuseUntrusted(one, plain, sandboxed))).toEqual([]);
  });

  it('runs no fork without a network of its own, nor a project that asks for one', () => {
    const lacking = on({ state: 'sandboxed', network: 'shared', lacks: { network: 'pasta is missing; install passt' } });
    const message = 'provider process has no network to keep this apart: pasta is missing; install passt';
    expect(refuseUntrusted(fork, plain, lacking)).toMatchObject([{ code: 'isolation.missing', message }]);
    expect(refuseUntrusted(branch, { ...plain, network: 'own' }, lacking)).toMatchObject([{ message }]);
    expect(refuseUntrusted(branch, plain, lacking)).toEqual([]);
  });

  it('runs no fork without limits', () => {
    const lacking = on({ state: 'sandboxed', network: 'shared', lacks: { limits: 'there is no cgroup of its own' } });
    expect(refuseUntrusted(fork, plain, lacking)).toMatchObject([
      {
        message: 'provider process has no limits for this, so it runs no pull requests from forks: there is no cgroup of its own',
      },
    ]);
    expect(refuseUntrusted(branch, { ...plain, network: 'own' }, lacking)).toEqual([]);
  });
});
