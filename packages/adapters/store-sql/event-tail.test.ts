import { beforeAllEvents, eventId } from '@eph/contract';
import { event } from '@eph/engine/history/event-log.contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { BufferedEvent } from './event-buffer.ts';
import { EventTail, type LoggedEvent, type TailSource } from './event-tail.ts';

/** Storage and a buffer whose contents the test decides. */
class Source implements TailSource {
  readonly stored: LoggedEvent[] = [];
  waiting: BufferedEvent[] = [];
  readings = 0;
  outage: string | undefined;

  store(message: string, sequence?: number): void {
    const id = eventId(String(this.stored.length + 1).padStart(16, '0'));
    this.stored.push({ event: { id, ...event(message) }, sequence });
  }

  newest() {
    return this.#answer(this.stored.at(-1)?.event.id ?? beforeAllEvents);
  }

  read({ after, limit }: Parameters<TailSource['read']>[0]) {
    this.readings += 1;
    return this.#answer(this.stored.filter((one) => one.event.id > after).slice(0, limit));
  }

  buffered() {
    return this.waiting;
  }

  #answer<T>(value: T): Promise<T> {
    return this.outage === undefined ? Promise.resolve(value) : Promise.reject(new Error(this.outage));
  }
}

const create = () => {
  const source = new Source();
  const clock = new ManualClock();
  const tail = new EventTail(source, clock);
  const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const follow = async () => {
    const abort = new AbortController();
    const seen: string[] = [];
    const run = async (): Promise<void> => {
      for await (const entry of tail.follow({ after: beforeAllEvents }, abort.signal))
        seen.push('event' in entry ? `${entry.kind} ${entry.event.message}` : entry.kind);
    };
    const ended = run();
    const stop = (): Promise<void> => {
      abort.abort();
      return ended;
    };
    onTestFinished(stop);
    await settle();
    return { seen, stop };
  };
  /** An event of this process that storage does not take. */
  const append = (message: string, sequence: number): void => {
    source.waiting.push({ sequence, event: event(message) });
    tail.appended(sequence, event(message));
  };
  return { source, clock, tail, settle, follow, append };
};

describe('the tail of the event log', () => {
  it('reads every second what others store, for all followers at once, and only while there are some', async () => {
    const { source, clock, settle, follow } = create();
    expect(clock.pending).toBe(0);
    const followers = await Promise.all(Array.from({ length: 10 }, follow));
    source.store('a');
    clock.advance(999);
    await settle();
    expect(followers[0]?.seen).toEqual([]);
    const before = source.readings;
    clock.advance(1);
    await settle();
    expect(followers.map(({ seen }) => seen)).toEqual(Array.from({ length: 10 }, () => ['stored a']));
    expect(source.readings - before).toBe(1);
    await Promise.all(followers.map(({ stop }) => stop()));
    expect(clock.pending).toBe(0);
  });

  it('shows at once what this process stores', async () => {
    const { source, tail, settle, follow } = create();
    const { seen } = await follow();
    source.store('a', 1);
    tail.stored();
    await settle();
    expect(seen).toEqual(['stored a']);
  });

  it('shows once what was stored without a confirmation', async () => {
    const { source, clock, tail, settle, follow, append } = create();
    const { seen } = await follow();
    append('a', 1);
    append('b', 2);
    source.store('a', 1);
    clock.advance(1_000);
    await settle();
    source.outage = 'no answer';
    tail.lost('no answer');
    await settle();
    expect(seen).toEqual(['stored a', 'storage', 'unstored b']);
    source.outage = undefined;
    source.store('b', 2);
    tail.stored();
    await settle();
    expect(seen).toEqual(['stored a', 'storage', 'unstored b', 'storage']);
  });

  it('shows nothing twice and misses nothing over several outages', async () => {
    const { source, tail, settle, follow, append } = create();
    const first = await follow();
    tail.lost('no answer');
    append('a', 1);
    append('b', 2);
    await settle();
    source.store('a', 1);
    tail.stored();
    await settle();
    append('c', 3);
    await settle();
    expect(first.seen).toEqual(['storage', 'unstored a', 'unstored b', 'storage']);
    const second = await follow();
    tail.lost('no answer again');
    append('d', 4);
    await settle();
    for (const [index, message] of ['b', 'c', 'd', 'e'].entries()) source.store(message, index + 2);
    tail.stored();
    await settle();
    expect(first.seen.slice(4)).toEqual(['storage', 'unstored c', 'unstored d', 'storage', 'stored e']);
    expect(second.seen).toEqual(['stored a', 'storage', 'unstored c', 'unstored d', 'storage', 'stored b', 'stored e']);
  });

  it('notices by itself that storage is back', async () => {
    const { source, clock, settle, follow } = create();
    source.outage = 'no answer';
    const { seen } = await follow();
    expect(seen).toEqual(['storage']);
    source.outage = undefined;
    source.store('a');
    clock.advance(1_000);
    await settle();
    expect(seen).toEqual(['storage', 'storage', 'stored a']);
  });
});
