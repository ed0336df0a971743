import { silentLog } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../engine/time/clock.fake.ts';
import { HostGate } from './host-gate.ts';

const { signal } = new AbortController();

const start = () => {
  const clock = new ManualClock();
  const gate = new HostGate({ host: 'ghcr.io', concurrency: 4, now: () => clock.now(), random: () => 0, log: silentLog });
  /** A request and its outcome; false if the gate is closed. */
  const request = async (status: number | undefined, askedMs?: number): Promise<boolean> => {
    const release = await gate.enter(signal).catch(() => undefined);
    if (release === undefined) return false;
    gate.observe(status, askedMs);
    release();
    return true;
  };
  /** How long the gate is closed now. */
  const closedForMs = async (): Promise<number> => {
    for (let ms = 0; ; ms += 500) {
      const release = await gate.enter(signal).catch(() => undefined);
      if (release !== undefined) {
        release();
        return ms;
      }
      clock.advance(500);
    }
  };
  return { clock, gate, request, closedForMs };
};

describe('the gate of a host', () => {
  it('stays open while requests fail now and then', async () => {
    const { request } = start();
    for (let round = 0; round < 20; round += 1) {
      for (const status of [500, 503, undefined, 408]) expect(await request(status)).toBe(true);
      expect(await request(404)).toBe(true);
    }
  });

  it('closes after failures in a row, for longer each time, and opens with the first success', async () => {
    const { request, closedForMs } = start();
    for (let failure = 0; failure < 5; failure += 1) expect(await request(undefined)).toBe(true);
    const pauses: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      pauses.push(await closedForMs());
      await request(502);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    await closedForMs();
    expect(await request(200)).toBe(true);
    for (let failure = 0; failure < 4; failure += 1) expect(await request(500)).toBe(true);
    expect(await request(200)).toBe(true);
  });

  it('closes at once when the host asks for it, for as long as it asks', async () => {
    const { request, closedForMs } = start();
    expect(await request(429, 90_000)).toBe(true);
    expect(await closedForMs()).toBe(90_000);
    expect(await request(503, 7_000)).toBe(true);
    expect(await closedForMs()).toBe(7_000);
  });

  it('says who asks for a pause, and when to come back', async () => {
    const { gate, request } = start();
    await request(429, 90_000);
    await expect(gate.enter(signal)).rejects.toMatchObject({
      code: 'registry.unreachable',
      message: 'ghcr.io asks for a pause: there were too many requests.',
      retryAfterMs: 90_000,
    });
  });

  it('counts requests that fail together once', async () => {
    const { gate, closedForMs } = start();
    const releases = await Promise.all([gate.enter(signal), gate.enter(signal), gate.enter(signal)]);
    for (const release of releases) {
      gate.observe(429);
      release();
    }
    expect(await closedForMs()).toBe(1_000);
  });

  it('is not opened by requests that were under way when it closed', async () => {
    const { gate, closedForMs } = start();
    const [one, other] = [await gate.enter(signal), await gate.enter(signal)];
    gate.observe(429, 30_000);
    one();
    gate.observe(200);
    other();
    expect(await closedForMs()).toBe(30_000);
  });

  it('lets one request through after a pause, and the others when it succeeds', async () => {
    const { clock, gate, request } = start();
    await request(429, 1_000);
    clock.advance(1_000);
    const probe = await gate.enter(signal);
    await expect(gate.enter(signal)).rejects.toMatchObject({ code: 'registry.unreachable', retryAfterMs: 1_000 });
    // It was aborted: nothing is known, and the next one may try.
    probe();
    const next = await gate.enter(signal);
    gate.observe(200);
    next();
    const releases = await Promise.all([gate.enter(signal), gate.enter(signal), gate.enter(signal), gate.enter(signal)]);
    expect(releases).toHaveLength(4);
  });

  it('is not closed for longer when the clock is set back', async () => {
    const { clock, request, closedForMs } = start();
    await request(429, 60_000);
    clock.jump(-3_600_000);
    expect(await closedForMs()).toBe(0);
  });
});
