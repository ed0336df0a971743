import { describe, expect, it } from 'vitest';
import { decodeFrame, type ExecFrame, encodeFrame } from './exec-frames.ts';
import { ExecWindow, execWindow } from './exec-window.ts';

describe('the frames of an exec', () => {
  const every = Uint8Array.from({ length: 256 }, (_, index) => index);
  const frames: readonly ExecFrame[] = [
    { type: 'input', bytes: every },
    { type: 'input', bytes: new Uint8Array() },
    { type: 'output', bytes: every },
    { type: 'errors', bytes: every },
    { type: 'taken', length: 32_768 },
    { type: 'resize', columns: 132, rows: 43 },
    { type: 'exit', code: 255 },
    { type: 'failure', code: 'api.unauthorized', message: 'der Schlüssel wurde widerrufen' },
  ];

  it.each(frames)('come out as they went in: $type', (frame) => {
    expect(decodeFrame(encodeFrame(frame))).toEqual(frame);
  });

  const json = (number: number, content: unknown): Uint8Array =>
    Uint8Array.from([number, ...new TextEncoder().encode(JSON.stringify(content))]);

  it.each([
    ['nothing', new Uint8Array()],
    ['an unknown number', Uint8Array.of(7, 1)],
    ['a size without content', Uint8Array.of(3)],
    ['a size of nothing', json(3, { columns: 0, rows: 0 })],
    ['a huge size', json(3, { columns: 1e9, rows: 1 })],
    ['a size in text', json(3, { columns: '80', rows: '24' })],
    ['an exit code that is none', json(4, { code: 256 })],
    ['a failure without a reason', json(5, {})],
    ['a negative length', json(6, { length: -1 })],
    ['a length with a fraction', json(6, { length: 0.5 })],
    ['JSON cut off', Uint8Array.of(6, 0x7b)],
    ['bytes that are no text', Uint8Array.of(6, 0xff, 0xfe)],
  ])('are not %s', (_what, bytes) => {
    expect(decodeFrame(bytes)).toBeUndefined();
  });
});

describe('the window of an exec', () => {
  const sent = (window: ExecWindow, bytes: number) => {
    const pieces: number[] = [];
    const done = (async () => {
      for await (const piece of window.split(new Uint8Array(bytes))) pieces.push(piece.length);
    })();
    return { pieces, done, sum: () => pieces.reduce((sum, length) => sum + length, 0) };
  };

  it('splits what is long, and keeps every byte in order', async () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
    const pieces: number[] = [];
    for await (const piece of new ExecWindow().split(bytes)) pieces.push(...piece);
    expect(pieces).toEqual([...bytes]);
  });

  it('sends no more than may be on its way, and goes on with what was taken', async () => {
    const window = new ExecWindow();
    const [one, two] = [sent(window, execWindow), sent(window, execWindow)];
    await expect.poll(() => one.sum() + two.sum()).toBe(execWindow);
    window.grow(1_000);
    await expect.poll(() => one.sum() + two.sum()).toBe(execWindow + 1_000);
    window.grow(execWindow);
    await Promise.all([one.done, two.done]);
    expect([one.sum(), two.sum()]).toEqual([execWindow, execWindow]);
  });

  it('grows to its size and no further', async () => {
    const window = new ExecWindow();
    window.grow(Number.MAX_SAFE_INTEGER);
    const { sum } = sent(window, 10 * execWindow);
    await expect.poll(sum).toBe(execWindow);
  });
});
