import { type Event, environmentId, projectId } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { EventLog } from './event-log.ts';

export interface EventLogHarness extends AsyncDisposable {
  readonly log: EventLog;
  /** At most a few hundred, so that a test can overflow it. */
  readonly bufferLimit: number;
  /** Storage stops answering; what it holds is kept. */
  fail(): Promise<void>;
  recover(): Promise<void>;
}

const shop = environmentId('00000000000000aa');
const blog = environmentId('00000000000000bb');

const event = (message: string, more: Partial<Event> = {}): Event => ({
  at: '2026-01-05T09:00:00.000Z',
  type: 'status.changed',
  project: projectId('shop'),
  environment: shop,
  message,
  details: {},
  ...more,
});

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `event ${index}`);

export const describeEventLog = (create: () => Promise<EventLogHarness>): void => {
  const start = async (): Promise<EventLogHarness> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return harness;
  };
  const messages = async (log: EventLog, limit = 100_000): Promise<string[]> =>
    (await log.read({ limit })).map(({ message }) => message);

  it('reads back what was appended, oldest first', async () => {
    const { log } = await start();
    const sent = numbers(50);
    for (const message of sent) log.append(event(message));
    await log.flush();
    expect(await messages(log)).toEqual(sent);
  });

  it('keeps every field', async () => {
    const { log } = await start();
    const sent = [
      event('Zoë’s “quoted” \\ line\n\t; drop table event; -- 💥', {
        details: { text: "it's", count: 1.5, yes: true, none: null },
      }),
      event('', { type: 'ephd.started', project: null, environment: null }),
    ];
    for (const each of sent) log.append(each);
    await log.flush();
    expect(await log.read({ limit: 10 })).toEqual(sent);
  });

  it('keeps an event whose text no database likes', async () => {
    const { log } = await start();
    log.append(event('nul \0 and half a \ud800 pair', { details: { 'ke\0y': 'half a \udc00 pair and nul \0' } }));
    log.append(event('x'.repeat(1_000_000)));
    log.append(event('after'));
    await log.flush();
    const read = await messages(log);
    expect(read).toHaveLength(3);
    expect(read[0]).toMatch(/^nul .* and half a .* pair$/su);
    expect(read[2]).toBe('after');
    expect(log.health().lost).toBe(0);
  });

  it('reads the newest events when asked for fewer than there are', async () => {
    const { log } = await start();
    for (const message of numbers(20)) log.append(event(message));
    await log.flush();
    expect(await messages(log, 3)).toEqual(['event 17', 'event 18', 'event 19']);
    expect(await messages(log, 0)).toEqual([]);
  });

  it('reads the events of one environment', async () => {
    const { log } = await start();
    for (const message of numbers(10)) log.append(event(message, { environment: message.endsWith('7') ? blog : shop }));
    await log.flush();
    expect((await log.read({ environment: blog, limit: 5 })).map(({ message }) => message)).toEqual(['event 7']);
    expect((await log.read({ environment: shop, limit: 2 })).map(({ message }) => message)).toEqual(['event 8', 'event 9']);
  });

  it('has nothing to wait for when nothing was appended', async () => {
    const { log } = await start();
    await log.flush();
    expect(await messages(log)).toEqual([]);
    expect(log.health()).toEqual({ reachable: true, buffered: 0, lost: 0, message: '' });
  });

  it('holds events back while storage does not answer, and stores them in order when it does', async () => {
    const { log, fail, recover } = await start();
    log.append(event('before'));
    await log.flush();
    await fail();
    log.append(event('during 1'));
    log.append(event('during 2'));
    await expect(log.read({ limit: 10 })).rejects.toMatchObject({ code: 'store.unreachable' });
    expect(log.health()).toMatchObject({ reachable: false, buffered: 2, lost: 0 });
    expect(log.health().message).not.toBe('');
    await recover();
    log.append(event('after'));
    await log.flush();
    expect(await messages(log)).toEqual(['before', 'during 1', 'during 2', 'after']);
    expect(log.health()).toEqual({ reachable: true, buffered: 0, lost: 0, message: '' });
  });

  it('drops and counts what does not fit, the oldest first', async () => {
    const { log, bufferLimit, fail, recover } = await start();
    await log.flush();
    await fail();
    const sent = numbers(bufferLimit + 25);
    for (const message of sent) log.append(event(message));
    expect(log.health()).toMatchObject({ buffered: bufferLimit, lost: 25 });
    await recover();
    await log.flush();
    expect(await messages(log)).toEqual(sent.slice(25));
    expect(log.health()).toMatchObject({ reachable: true, buffered: 0, lost: 25 });
  });
};
