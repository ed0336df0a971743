import { describe, expect, it } from 'vitest';
import type { ReceivedAnswer } from './answer.ts';
import type { Gate } from './gate.ts';
import { createTestGate, ManualClock } from './scripted-forge.fake.ts';

const { signal } = new AbortController();

const answer = (status: number, headers: Record<string, string> = {}, body = ''): ReceivedAnswer => ({
  status,
  headers: new Headers(headers),
  body,
});

/** How long the gate stays closed; undefined when it is open. */
const closedForMs = async (gate: Gate): Promise<number | undefined> => {
  try {
    (await gate.enter(signal))();
    return undefined;
  } catch (error) {
    return (error as { readonly retryAfterMs: number }).retryAfterMs;
  }
};

const clockSeconds = (clock: ManualClock): number => clock.ms / 1_000;

describe('the gate closes', () => {
  const clock = new ManualClock();
  const limits = (remaining: number, resetInSeconds: number) => ({
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(clockSeconds(clock) + resetInSeconds),
  });

  it.each<readonly [string, ReceivedAnswer, number | undefined]>([
    ['not after a success', answer(200), undefined],
    ['not after a refusal', answer(403), undefined],
    ['not while budget is left', answer(200, limits(1, 100)), undefined],
    ['for as long as a throttle asks', answer(429, { 'retry-after': '30' }), 30_000],
    ['for as long as a secondary limit asks', answer(403, { 'retry-after': '90' }), 90_000],
    ['for a minute after a throttle that asks for nothing', answer(429), 60_000],
    ['until the budget is renewed', answer(403, limits(0, 100)), 100_000],
    ['before a request that the budget would not cover', answer(200, limits(0, 100)), 100_000],
    [
      'as the budget of GitLab says',
      answer(200, { 'ratelimit-limit': '9', 'ratelimit-remaining': '0', 'ratelimit-reset': '50' }),
      50_000,
    ],
    ['for as long as a server in trouble asks', answer(503, { 'retry-after': '20' }), 20_000],
    [
      'until a date',
      answer(429, { date: 'Mon, 05 Jan 2026 09:00:00 GMT', 'retry-after': 'Mon, 05 Jan 2026 09:01:00 GMT' }),
      60_000,
    ],
    [
      'for the right time also when the watches disagree by hours',
      answer(403, { ...limits(0, 20_000), date: new Date(clock.ms + 19_970_000).toUTCString() }),
      30_000,
    ],
    ['never for longer than an hour', answer(429, { 'retry-after': '999999999' }), 3_600_000],
    ['for a minute when the pause makes no sense', answer(429, { 'retry-after': 'soon' }), 60_000],
    ['where only the text tells of a limit', answer(403, {}, 'You have exceeded a secondary rate limit.'), 60_000],
  ])('%s', async (_, seen, expected) => {
    const gate = createTestGate(clock, { isThrottle: ({ body }) => body.includes('secondary rate limit') });
    gate.observe(seen);
    const closed = await closedForMs(gate);
    // Without luck the gate closes for exactly what was asked; dates in headers have no fractions.
    expect(closed === undefined ? undefined : Math.round(closed / 1_000) * 1_000).toBe(expected);
  });

  it('for longer each time a throttle asks for nothing', async () => {
    const gate = createTestGate(clock);
    const pauses: (number | undefined)[] = [];
    for (let time = 0; time < 3; time += 1) {
      gate.observe(answer(429));
      pauses.push(await closedForMs(gate));
    }
    expect(pauses).toEqual([60_000, 120_000, 240_000]);
  });

  it('when nothing but failures come, and opens with the first success', async () => {
    const later = new ManualClock();
    const gate = createTestGate(later);
    const fail = (times: number) =>
      Array.from({ length: times }, (_, index) => gate.observe(index % 2 === 0 ? undefined : answer(502)));
    fail(7);
    expect(await closedForMs(gate)).toBeUndefined();
    fail(4);
    expect(await closedForMs(gate)).toBe(4_000);
    later.ms += 4_000;
    expect(await closedForMs(gate)).toBeUndefined();
    gate.observe(answer(200));
    fail(7);
    expect(await closedForMs(gate)).toBeUndefined();
  });

  it('with a reason that does not vary', async () => {
    const gate = createTestGate(clock);
    gate.observe(answer(429, { 'x-github-request-id': 'C0FFEE' }));
    await expect(gate.enter(signal)).rejects.toMatchObject({
      code: 'forge.unreachable',
      message: 'the forge asks for a pause: there were too many requests.',
    });
  });
});

describe('whoever comes', () => {
  it('waits when the pause is short', async () => {
    const started = Date.now();
    const gate = createTestGate(new ManualClock(), { now: Date.now });
    gate.observe(answer(429, { 'retry-after': '1' }));
    expect(await closedForMs(gate)).toBeUndefined();
    expect(Date.now() - started).toBeGreaterThanOrEqual(1_000);
  });

  it('may go away while waiting', async () => {
    const gate = createTestGate(new ManualClock());
    gate.observe(answer(429, { 'retry-after': '1' }));
    const leaving = new AbortController();
    const waiting = gate.enter(leaving.signal);
    leaving.abort(new Error('went away'));
    await expect(waiting).rejects.toThrow('went away');
  });

  it('takes turns with others', async () => {
    const gate = createTestGate(new ManualClock());
    const first = await gate.enter(signal);
    for (let count = 1; count < 16; count += 1) await gate.enter(signal);
    const order: string[] = [];
    const leaving = new AbortController();
    const third = gate.enter(signal).then(() => order.push('third'));
    const fourth = gate.enter(leaving.signal);
    leaving.abort(new Error('went away'));
    await expect(fourth).rejects.toThrow('went away');
    expect(order).toEqual([]);
    first();
    await third;
    expect(order).toEqual(['third']);
  });

  it('does not wait for hours because the clock was set back', async () => {
    const clock = new ManualClock();
    const gate = createTestGate(clock);
    gate.observe(answer(429));
    clock.ms -= 86_400_000;
    expect(await closedForMs(gate)).toBeLessThanOrEqual(4_500_000);
  });
});

describe('the budget', () => {
  it('is what the last answer that spoke of it said', () => {
    const clock = new ManualClock();
    const gate = createTestGate(clock);
    expect(gate.budget()).toBeUndefined();
    const reset = String(clockSeconds(clock) + 60);
    gate.observe(answer(200, { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': reset }));
    gate.observe(answer(500));
    gate.observe(answer(200, { 'x-ratelimit-limit': 'many', 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '' }));
    expect(gate.budget()).toEqual({ limit: 60, remaining: 12, resetAt: clock.ms + 60_000 });
  });
});
