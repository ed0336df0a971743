import { describe, expect, it } from 'vitest';
import { type BodyLimits, BodyReader } from './body-reader.ts';

const limits: BodyLimits = { bytes: 2_000, bytesAtOnce: 3_000, timeMs: 200 };

/** A body of one piece, whose end comes once it is released. */
const startBody = (bytes: number) => {
  const ended = Promise.withResolvers<void>();
  const pieces = async function* () {
    yield new Uint8Array(bytes);
    await ended.promise;
  };
  return { body: { announcedLength: undefined, chunks: pieces() }, end: () => ended.resolve() };
};

const lengthOf = (body: Uint8Array): number => body.byteLength;

describe('a body', () => {
  it('is not waited for, and others are read meanwhile', async () => {
    const reader = new BodyReader(limits);
    const slow = Array.from({ length: 20 }, () => reader.withBody(startBody(1).body, lengthOf));
    const late = Promise.allSettled(slow);
    const whole = startBody(10);
    whole.end();
    expect(await reader.withBody(whole.body, lengthOf)).toBe(10);
    expect((await late).map((one) => (one.status === 'rejected' ? one.reason.status : 0))).toEqual(slow.map(() => 408));
  });

  it('counts with all others towards what is held at once', async () => {
    const reader = new BodyReader(limits);
    const bodies = Array.from({ length: 4 }, () => startBody(1_000));
    const read = Promise.allSettled(bodies.map(({ body }) => reader.withBody(body, lengthOf)));
    const statuses = (await read).map((one) => (one.status === 'rejected' ? one.reason.status : 0));
    expect(statuses).toEqual([408, 408, 408, 503]);
    const next = startBody(2_000);
    next.end();
    expect(await reader.withBody(next.body, lengthOf)).toBe(2_000);
  });
});
