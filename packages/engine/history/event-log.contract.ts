import {
  beforeAllEvents,
  type Event,
  type EventId,
  environmentId,
  eventId,
  type ProjectId,
  projectId,
  registerSecret,
} from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventLog, EventQuery, FollowEntry, FollowQuery } from './event-log.ts';

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

export const event = (message: string, more: Partial<Event> = {}): Event => ({
  at: '2026-01-05T09:00:00.000Z',
  type: 'status.changed',
  project: projectId('shop'),
  environment: shop,
  message,
  details: {},
  ...more,
});

const audit = (message: string): Event => event(message, { type: 'audit.changed', project: null, environment: null });

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `event ${index}`);

export const describeEventLog = (create: () => Promise<EventLogHarness>): void => {
  const start = async (): Promise<EventLogHarness> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return harness;
  };
  /** In pieces that fit in the buffer. */
  const appendAll = async (log: EventLog, sent: readonly string[]): Promise<void> => {
    for (const [index, message] of sent.entries()) {
      log.append(event(message));
      if (index % 50 === 0) await log.flush();
    }
    await log.flush();
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
    const read = await log.read({ limit: 10 });
    expect(read).toEqual(sent.map((each) => ({ ...each, id: expect.any(String) })));
  });

  it('removes secrets from the message and the details', async () => {
    const { log } = await start();
    registerSecret('hunter2-hunter2');
    log.append(
      event('it said hunter2-hunter2', { details: { reason: 'not hunter2-hunter2', token: 'some-token', tokenId: 'a1' } }),
    );
    await log.flush();
    expect(await log.read({ limit: 10 })).toMatchObject([
      { message: 'it said ***', details: { reason: 'not ***', token: '***', tokenId: 'a1' } },
    ]);
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

  it('gives each event an id, greater than that of the one before', async () => {
    const { log } = await start();
    await appendAll(log, numbers(300));
    const ids = (await log.read({ limit: 1_000 })).map(({ id }) => id);
    expect(new Set(ids).size).toBe(300);
    expect(ids.toSorted()).toEqual(ids);
    expect(ids.map(eventId)).toEqual(ids);
    expect(ids.every((id) => id > beforeAllEvents)).toBe(true);
  });

  it('is read in pages, forwards and backwards', async () => {
    const { log } = await start();
    for (const message of numbers(25)) log.append(event(message));
    await log.flush();
    const forwards: string[] = [];
    for (let after: EventId | undefined = beforeAllEvents; after !== undefined; ) {
      const page = await log.read({ after, limit: 10 });
      forwards.push(...page.map(({ message }) => message));
      after = page.at(-1)?.id;
    }
    expect(forwards).toEqual(numbers(25));
    const backwards: string[][] = [];
    for (let before: EventId | undefined; ; ) {
      const page = await log.read({ ...(before && { before }), limit: 10 });
      if (page.length === 0) break;
      backwards.push(page.map(({ message }) => message));
      before = page[0]?.id;
    }
    expect(backwards.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(backwards.toReversed().flat()).toEqual(numbers(25));
    const all = await log.read({ limit: 100 });
    const [from, to] = [all[3]?.id ?? beforeAllEvents, all[9]?.id ?? beforeAllEvents];
    expect((await log.read({ after: from, before: to, limit: 100 })).map(({ message }) => message)).toEqual(
      numbers(25).slice(4, 9),
    );
  });

  describe('filtered', () => {
    const at = (minute: number): string => new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString();
    const sent: Event[] = [
      event('Started', { at: at(0), type: 'ephd.started', project: null, environment: null }),
      event('shop is wanted', { at: at(1), type: 'environment.wanted' }),
      event('shop is Ready', { at: at(2) }),
      event('blog is ready', { at: at(3), project: projectId('blog'), environment: blog }),
      event('alice signed in', { at: at(4), type: 'audit.signed_in', project: null, environment: null }),
      event('alice released shop', { at: at(5), type: 'audit.changed' }),
      event('100% of wiki_1 failed', { at: at(6), type: 'outcome.failed', project: projectId('wiki'), environment: null }),
    ];
    const [shopId, blogId, wikiId] = ['shop', 'blog', 'wiki'].map(projectId) as [ProjectId, ProjectId, ProjectId];

    const queries: readonly (readonly [string, Omit<EventQuery, 'limit'>, readonly number[]])[] = [
      ['a project', { projects: [shopId] }, [1, 2, 5]],
      ['several projects', { projects: [wikiId, blogId, blogId] }, [3, 6]],
      ['events without a project, where asked for', { projects: [null, blogId] }, [0, 3, 4]],
      ['no project', { projects: [] }, []],
      ['a type', { types: ['status.changed'] }, [2, 3]],
      ['several types', { types: ['ephd.started', 'audit.changed', 'audit.changed'] }, [0, 5]],
      ['a prefix', { types: ['audit.'] }, [4, 5]],
      ['a prefix and a type', { types: ['audit.', 'outcome.failed'] }, [4, 5, 6]],
      ['a type that begins with another', { types: ['audit'] }, []],
      ['no type', { types: [] }, []],
      ['types that do not exist, of an environment', { types: ['nothing.', "';--"], environment: shop }, []],
      ['types in projects', { types: ['audit.'], projects: [shopId, blogId] }, [5]],
      ['types of an environment', { types: ['audit.', 'environment.wanted'], environment: shop }, [1, 5]],
      ['an environment in projects', { environment: blog, projects: [shopId, null] }, []],
      ['an environment in its project', { environment: blog, projects: [shopId, blogId, null] }, [3]],
      ['time, the first moment included and the last not', { since: new Date(at(2)), until: new Date(at(4)) }, [2, 3]],
      ['time and project', { since: new Date(at(2)), projects: [shopId] }, [2, 5]],
      ['text in any case', { text: 'READY' }, [2, 3]],
      ['text that is not a pattern', { text: '0% of wiki_' }, [6]],
      ['text that would be one', { text: 'a%d' }, []],
      ['text that no database likes', { text: "'\0\ud800" }, []],
      ['text in projects', { text: 'alice', projects: [null] }, [4]],
      ['text of an environment', { text: 'alice', environment: shop }, [5]],
    ];

    it('by what is asked for', async () => {
      const { log } = await start();
      for (const each of sent) log.append(each);
      await log.flush();
      const read = async (query: EventQuery): Promise<number[]> =>
        (await log.read(query)).map(({ message }) => sent.findIndex((one) => one.message === message));
      for (const [name, query, expected] of queries) {
        expect([name, await read({ ...query, limit: 100 })]).toEqual([name, expected]);
        expect([name, await read({ ...query, limit: 2 })]).toEqual([name, expected.slice(-2)]);
        expect([name, await read({ ...query, limit: 2, after: beforeAllEvents })]).toEqual([name, expected.slice(0, 2)]);
      }
    });

    it('by more projects than a database takes at once, in full pages', async () => {
      const { log } = await start();
      const projects = Array.from({ length: 1_200 }, (_, index) => projectId(`p${index}`));
      const messages = numbers(60);
      for (const [index, message] of messages.entries())
        log.append(event(message, { project: projects[(index * 997) % 1_200] ?? null }));
      log.append(event('of another', { project: projectId('other') }));
      await log.flush();
      const read = async (query: Partial<EventQuery>) =>
        (await log.read({ projects, limit: 7, ...query })).map(({ message }) => message);
      expect(await read({})).toEqual(messages.slice(-7));
      expect(await read({ after: beforeAllEvents })).toEqual(messages.slice(0, 7));
      expect(await read({ limit: 100 })).toEqual(messages);
    });
  });

  it('has nothing to wait for when nothing was appended', async () => {
    const { log } = await start();
    await log.flush();
    expect(await messages(log)).toEqual([]);
    expect(log.health()).toEqual({ reachable: true, buffered: 0, lost: 0, lostAudit: 0, message: '' });
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
    expect(log.health()).toEqual({ reachable: true, buffered: 0, lost: 0, lostAudit: 0, message: '' });
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

  it('drops and counts audit events last', async () => {
    const { log, bufferLimit, fail, recover } = await start();
    await log.flush();
    await fail();
    log.append(audit('a'));
    for (const message of numbers(bufferLimit)) log.append(event(message));
    expect(log.health()).toMatchObject({ lost: 1, lostAudit: 0 });
    for (let index = 0; index < bufferLimit; index += 1) log.append(audit(`b ${index}`));
    log.append(event('dropped at once'));
    expect(log.health()).toMatchObject({ buffered: bufferLimit, lost: bufferLimit + 2, lostAudit: 1 });
    await recover();
    await log.flush();
    expect(await messages(log)).toEqual(Array.from({ length: bufferLimit }, (_, index) => `b ${index}`));
  });

  describe('followed', () => {
    /** What a follower has seen: stored messages, `?` and unstored ones, and markers. */
    const follow = (log: EventLog, query: FollowQuery = { after: beforeAllEvents }) => {
      const abort = new AbortController();
      const entries: FollowEntry[] = [];
      const run = async (): Promise<void> => {
        for await (const entry of log.follow(query, abort.signal)) entries.push(entry);
      };
      const ended = run();
      const stop = (): Promise<void> => {
        abort.abort();
        return ended;
      };
      onTestFinished(stop);
      const seen = (): string[] =>
        entries.map((entry) => {
          if (entry.kind === 'storage') return entry.reachable ? 'back' : 'lost';
          return entry.kind === 'lagging' ? 'lagging' : `${entry.kind === 'unstored' ? '?' : ''}${entry.event.message}`;
        });
      return { entries, seen, stop };
    };

    it('shows what is stored and then what is appended', async () => {
      const { log } = await start();
      await appendAll(log, numbers(120));
      const { entries, seen } = follow(log);
      await expect.poll(seen).toEqual(numbers(120));
      log.append(event('a'));
      log.append(event('b'));
      await expect.poll(seen).toEqual([...numbers(120), 'a', 'b']);
      const stored = entries.flatMap((entry) => (entry.kind === 'stored' ? [entry.event] : []));
      expect(stored).toEqual(await log.read({ limit: 1_000 }));
    });

    it('goes on after an id, and begins with what comes without one', async () => {
      const { log } = await start();
      for (const message of numbers(10)) log.append(event(message));
      await log.flush();
      const [after] = await log.read({ limit: 3 });
      const resumed = follow(log, { after: after?.id ?? beforeAllEvents });
      await expect.poll(resumed.seen).toEqual(['event 8', 'event 9']);
      const fresh = follow(log, {});
      // Without a sign that it has begun, one of these is the first that it shows.
      for (let index = 0; fresh.seen().length === 0; index += 1) {
        log.append(event(`later ${index}`));
        await log.flush();
        await new Promise((resolve) => void setTimeout(resolve, 5));
      }
      expect(fresh.seen()[0]).toMatch(/^later/);
    });

    it('shows what matches', async () => {
      const { log } = await start();
      const { seen } = follow(log, { after: beforeAllEvents, types: ['audit.'], projects: [null], text: 'ALICE' });
      for (const round of ['1', '2'])
        for (const each of [event(`alice ${round}`), audit(`bob ${round}`), audit(`Alice ${round}`)]) {
          log.append(each);
          await log.flush();
        }
      await expect.poll(seen).toEqual(['Alice 1', 'Alice 2']);
    });

    it('ends when it is told to', async () => {
      const { log } = await start();
      const { seen, stop } = follow(log);
      log.append(event('a'));
      await expect.poll(seen).toEqual(['a']);
      await stop();
      log.append(event('b'));
      await log.flush();
      expect(seen()).toEqual(['a']);
      const late = log.follow({ after: beforeAllEvents }, AbortSignal.abort());
      expect(await late[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
    });

    it('misses nothing when it is slow', async () => {
      const { log } = await start();
      const sent = numbers(3_000);
      const seen: string[] = [];
      const abort = new AbortController();
      const iterator = log.follow({ after: beforeAllEvents }, abort.signal)[Symbol.asyncIterator]();
      for (const [index, message] of sent.entries()) {
        log.append(event(message));
        if (index % 50 === 0) await log.flush();
        if (index % 300 !== 0) continue;
        const { value } = (await iterator.next()) as { value: FollowEntry };
        if (value.kind === 'stored') seen.push(value.event.message);
      }
      await log.flush();
      while (seen.length < sent.length) {
        const { value } = (await iterator.next()) as { value: FollowEntry };
        if (value.kind === 'stored') seen.push(value.event.message);
      }
      abort.abort();
      expect(seen).toEqual(sent);
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
    });

    it('goes on with what this process appends while storage does not answer, and repeats nothing', async () => {
      const { log, fail, recover } = await start();
      log.append(event('before'));
      const first = follow(log);
      await expect.poll(first.seen).toEqual(['before']);
      await fail();
      log.append(event('during 1'));
      log.append(event('during 2'));
      await expect.poll(first.seen).toEqual(['before', 'lost', '?during 1', '?during 2']);
      const second = follow(log);
      await expect.poll(second.seen).toEqual(['lost']);
      log.append(event('during 3'));
      await expect.poll(first.seen).toContain('?during 3');
      await expect.poll(second.seen).toEqual(['lost', '?during 3']);
      await recover();
      await log.flush();
      log.append(event('after'));
      await expect.poll(first.seen).toEqual(['before', 'lost', '?during 1', '?during 2', '?during 3', 'back', 'after']);
      await expect.poll(second.seen).toEqual(['lost', '?during 3', 'back', 'before', 'during 1', 'during 2', 'after']);
      await expect.poll(follow(log).seen).toEqual(['before', 'during 1', 'during 2', 'during 3', 'after']);
    });
  });
};
