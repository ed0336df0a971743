import { EphError } from '@eph/contract';
import { event } from '@eph/engine/history/event-log.contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it } from 'vitest';
import { type BufferedEvent, EventBuffer } from './event-buffer.ts';

/** Storage that answers, does not answer, or answers only when told to. */
class Sink {
  reachable = true;
  readonly batches: string[][] = [];
  refuses = (_message: string): boolean => false;
  gate: Promise<void> = Promise.resolve();

  get stored(): string[] {
    return this.batches.flat();
  }

  async write(batch: readonly BufferedEvent[]): Promise<void> {
    await this.gate;
    if (!this.reachable) throw new EphError('store.unreachable', 'no answer');
    const messages = batch.map(({ event }) => event.message);
    if (messages.some(this.refuses)) throw new TypeError('not accepted');
    this.batches.push(messages);
  }
}

const create = (limit = 1_000) => {
  const sink = new Sink();
  const clock = new ManualClock();
  const buffer = new EventBuffer(sink, clock, limit);
  const add = (...messages: string[]): void => messages.forEach((message) => buffer.add(event(message)));
  /** Turns the clock until nothing more is planned, or for ten seconds. */
  const run = async (): Promise<void> => {
    for (let step = 0; step < 200; step += 1) {
      clock.advance(50);
      await new Promise(setImmediate);
    }
  };
  return { sink, clock, buffer, add, run };
};

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`);

describe('the event buffer', () => {
  it('stores events that come together in one batch', async () => {
    const { sink, buffer, add, run } = create();
    add('a', 'b', 'c');
    expect(sink.batches).toEqual([]);
    await run();
    expect(sink.batches).toEqual([['a', 'b', 'c']]);
    expect(buffer.buffered).toBe(0);
  });

  it('stores many events in batches of at most two hundred', async () => {
    const { sink, add, run } = create(10_000);
    add(...names(500));
    await run();
    expect(sink.batches.map(({ length }) => length)).toEqual([200, 200, 100]);
    expect(sink.stored).toEqual(names(500));
  });

  it('keeps order across an outage', async () => {
    const { sink, buffer, add, run } = create();
    sink.reachable = false;
    add('a', 'b');
    await run();
    add('c');
    expect(buffer.buffered).toBe(3);
    sink.reachable = true;
    await run();
    expect(sink.stored).toEqual(['a', 'b', 'c']);
    expect(buffer.lost).toBe(0);
  });

  it('tries less and less often, and at once when woken', async () => {
    const { sink, clock, buffer, add, run } = create();
    sink.reachable = false;
    add('a');
    await run();
    sink.reachable = true;
    buffer.wake();
    await new Promise(setImmediate);
    expect(sink.stored).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });

  it('drops the oldest when it is full, also while a batch is under way', async () => {
    const { sink, clock, buffer, add, run } = create(10);
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.gate = promise;
    add(...names(5));
    clock.advance(5);
    add('a', 'b', 'c', 'd', 'e', 'f', 'g');
    expect(buffer.buffered).toBe(10);
    expect(buffer.lost).toBe(2);
    resolve();
    await run();
    expect(sink.stored).toEqual([...names(5), 'c', 'd', 'e', 'f', 'g']);
  });

  it('loses only the event that is not accepted', async () => {
    const { sink, buffer, add, run } = create();
    sink.refuses = (message) => message === '37';
    add(...names(100));
    await run();
    expect(sink.stored).toEqual(names(100).filter((name) => name !== '37'));
    expect(buffer.lost).toBe(1);
  });

  it('flushes when what was added before is stored or lost, whatever comes after', async () => {
    const { sink, buffer, add, run } = create(4);
    sink.reachable = false;
    add('a', 'b');
    let flushed = false;
    void buffer.flush().then(() => (flushed = true));
    await run();
    expect(flushed).toBe(false);
    add('c', 'd', 'e');
    await run();
    expect(flushed).toBe(false);
    add('f');
    await run();
    expect(flushed).toBe(true);
    expect(buffer.lost).toBe(2);
  });

  it('stores what it has when it is closed', async () => {
    const { sink, buffer, add } = create();
    add('a', 'b');
    await buffer.close(1_000);
    expect(sink.stored).toEqual(['a', 'b']);
    add('late');
    expect(buffer.lost).toBe(1);
  });

  it('counts what is left as lost when it is closed and the sink does not answer', async () => {
    const { sink, clock, buffer, add, run } = create();
    sink.reachable = false;
    add('a', 'b');
    await run();
    const flushed = buffer.flush();
    await buffer.close(1_000);
    await flushed;
    expect(buffer).toMatchObject({ lost: 2, buffered: 0 });
    expect(clock.pending).toBe(0);
  });

  it('is closed in time when the sink hangs', async () => {
    const { sink, buffer, add, clock } = create();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.gate = promise;
    add('a');
    clock.advance(5);
    const closed = buffer.close(1_000);
    clock.advance(1_000);
    await closed;
    expect(buffer.lost).toBe(1);
    sink.reachable = false;
    resolve();
    await new Promise(setImmediate);
    expect(buffer).toMatchObject({ lost: 1, buffered: 0 });
  });
});
