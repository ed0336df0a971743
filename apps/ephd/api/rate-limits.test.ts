import { routes } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { administrator } from './authenticate.ts';
import type { Caller } from './handlers.ts';
import { RateLimits } from './rate-limits.ts';

const may = (): boolean => true;
const admin: Caller = { identity: administrator, how: 'file', session: undefined, may };

const callerWith = (id: string): Caller => {
  const token = { id, scope: 'read', projects: undefined, generation: 'g', after: 0, issuedAt: 0, expiresAt: 1 } as const;
  const person = { issuer: 'https://id.example.com', subject: '7' };
  return { ...admin, how: 'token', identity: { kind: 'person', person, groups: [], repository: undefined, token } };
};

let now = 0;
const create = (): RateLimits => new RateLimits(() => now);

/** How many of `tries` requests are within the limit. */
const count = (tries: number, take: () => { readonly retryAfterMs: number | undefined }): number =>
  Array.from({ length: tries }, take).filter(({ retryAfterMs }) => retryAfterMs === undefined).length;

describe('rate limits', () => {
  it('let 2,000 requests of one token through at once and 100 a second from then on', () => {
    const limits = create();
    const take = () => limits.take('requests', admin, '::1');
    expect(count(3_000, take)).toBe(2_000);
    expect(take().retryAfterMs).toBeCloseTo(10);
    now += 1_000;
    expect(count(200, take)).toBe(100);
    now -= 3_600_000;
    expect(count(10, take)).toBe(0);
    now += 60_000;
    expect(count(3_000, take)).toBe(2_000);
  });

  it('let 100 requests through at once that read Git, and five a second from then on', () => {
    const limits = create();
    const take = () => limits.take('requests', admin, '::1', routes.readPlan.cost);
    expect(count(200, take)).toBe(100);
    expect(take().retryAfterMs).toBeCloseTo(200);
    now += 1_000;
    expect(count(200, take)).toBe(5);
    now += 10_000;
    expect(count(200, () => limits.take('requests', admin, '::1'))).toBe(200);
    expect(count(200, take)).toBe(40);
  });

  it('let 200 refusals of one address through at once and 20 a minute from then on', () => {
    const limits = create();
    const take = () => limits.take('refusals', undefined, '198.51.100.1');
    expect(count(300, take)).toBe(200);
    expect(take().retryAfterMs).toBeCloseTo(3_000);
    now += 60_000;
    expect(count(300, take)).toBe(20);
  });

  it('let 1,000 changes of a person through, whatever their tokens, and one a second from then on', () => {
    const limits = create();
    const take = (id: string) => limits.take('changes', callerWith(id), '::1');
    expect(count(600, () => take('one')) + count(600, () => take('other'))).toBe(1_000);
    expect(take('one').retryAfterMs).toBeCloseTo(1_000);
    now += 60_000;
    expect(count(100, () => take('third'))).toBe(60);
    expect(limits.take('changes', admin, '::1').headers.ratelimit).toBe('"changes";r=999;t=1');
  });

  it('count each token, each kind of it, each address and each limit apart', () => {
    const limits = create();
    const exhaust = () => limits.take('requests', undefined, '198.51.100.1');
    expect(count(2_001, exhaust)).toBe(2_000);
    for (const quota of [
      limits.take('refusals', undefined, '198.51.100.1'),
      limits.take('requests', undefined, '198.51.100.2'),
      limits.take('requests', admin, '198.51.100.1'),
      limits.take('requests', { ...admin, how: 'session' }, '198.51.100.1'),
    ])
      expect(quota.retryAfterMs).toBeUndefined();
    expect(limits.take('requests', { ...admin, how: 'session' }, 'elsewhere').headers.ratelimit).toBe('"requests";r=1998;t=1');
  });

  it('count all addresses of an IPv6 network as one', () => {
    const limits = create();
    const left = (address: string): string => limits.take('requests', undefined, address).headers.ratelimit;
    for (const address of ['2001:db8::1', '2001:db8::ffff:1', '2001:db8:0:0:1:2:3:4']) left(address);
    expect(left('2001:db8::2')).toContain('r=1996');
    expect(left('2001:db8:0:1::2')).toContain('r=1999');
    expect(left('::1')).toContain('r=1999');
  });

  it('say what is left and until when', () => {
    const limits = create();
    expect(limits.take('refusals', undefined, '::1').headers).toEqual({
      'ratelimit-policy': '"requests";q=2000;w=20, "changes";q=1000;w=1000, "refusals";q=200;w=600',
      ratelimit: '"refusals";r=199;t=3',
    });
  });

  it('forget those that were not used for the longest time, beyond 10,000', () => {
    const limits = create();
    const left = (address: number): string => limits.take('requests', undefined, String(address)).headers.ratelimit;
    for (let address = 0; address < 10_000; address++) left(address);
    expect(left(0)).toContain('r=1998');
    left(10_000);
    expect([left(0), left(2)]).toEqual([expect.stringContaining('r=1997'), expect.stringContaining('r=1998')]);
    expect(left(1)).toContain('r=1999');
  });
});
