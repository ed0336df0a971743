import {
  type EnvironmentId,
  EphError,
  type Event,
  type EventId,
  type EventType,
  environmentId,
  eventId,
  eventQuerySchema,
  type ProjectId,
  projectId,
  type QueryOf,
  type Routes,
  type StreamItem,
  streamItemSchema,
} from '@eph/contract';
import { FakeEventLog } from '@eph/engine/history/event-log.fake';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { describe, expect, it, onTestFinished } from 'vitest';
import { administrator } from '../api/authenticate.ts';
import type { Caller } from '../api/handlers.ts';
import { createReadyRecord } from '../environment-record.fake.ts';
import { createHistoryHandlers } from './history-handlers.ts';
import { StatusChanges } from './status-changes.ts';

const [shop, bank, former] = [projectId('shop'), projectId('bank'), projectId('former')];
const inShop = createReadyRecord('preview/shop');
const inBank = createReadyRecord('preview/bank', { project: bank, id: environmentId('b'.repeat(16)) });

const callerWho = (may: Caller['may']): Caller => ({ identity: administrator, how: 'file', session: undefined, may });
const admin = callerWho(() => true);
/** Sees one project. */
const viewer = callerWho((permission, project) => permission === 'environments.read' && project === shop);

/** An admin, with a rule that denies two projects. */
const denied = callerWho((_, project) => project !== bank && project !== former);

const eventOf = (type: EventType, environment: EnvironmentRecord | null, message: string, at = '09:00'): Event => ({
  at: `2026-01-05T${at}:00.000Z`,
  type,
  project: environment?.project ?? null,
  environment: environment?.id ?? null,
  message,
  details: {},
});

const start = () => {
  const events = new FakeEventLog();
  const statuses = new StatusChanges();
  const find = (text: string, caller: Caller): EnvironmentRecord => {
    const found = [inShop, inBank].find(({ name, project }) => name === text && caller.may('environments.read', project));
    if (found === undefined) throw new EphError('api.not_found', `there is no environment ${JSON.stringify(text)}`);
    return found;
  };
  const projectOf = (id: EnvironmentId): ProjectId | undefined => [inShop, inBank].find((one) => one.id === id)?.project;
  const projects = new Map([shop, bank].map((id) => [id, id]));
  const handlers = createHistoryHandlers({ events, projects, find, projectOf, statuses });
  return { events, statuses, handlers };
};

const call = {
  body: undefined,
  environment: undefined,
  lastEventId: undefined,
  addToAudit: () => undefined,
  signIn: () => undefined,
  narrowTo: () => undefined,
};
const never = new AbortController().signal;

const startWithHistory = () => {
  const { events, handlers } = start();
  events.append(eventOf('ephd.started', null, 'ephd started'));
  events.append(eventOf('environment.wanted', inShop, 'one is wanted', '09:10'));
  events.append(eventOf('audit.changed', inShop, 'somebody pinned it', '09:15'));
  events.append(eventOf('environment.wanted', inBank, 'two is wanted', '09:20'));
  events.append(eventOf('status.changed', inShop, 'one is Ready', '09:30'));
  events.append({ ...eventOf('environment.removed', null, 'of a project that left', '09:40'), project: former });
  const list = async (query: object, caller = admin): Promise<readonly string[]> => {
    const answer = await handlers.listEvents({ ...call, path: {}, query: eventQuerySchema.parse(query), caller, signal: never });
    return answer.events.map(({ message }) => message);
  };
  return { events, handlers, list };
};

describe('a list of events', () => {
  it.each<readonly [object, readonly string[]]>([
    [{}, ['ephd started', 'one is wanted', 'two is wanted', 'one is Ready', 'of a project that left']],
    [{ project: 'shop' }, ['one is wanted', 'one is Ready']],
    [{ project: 'former' }, ['of a project that left']],
    [{ project: 'No project' }, []],
    [{ type: ['environment.wanted'] }, ['one is wanted', 'two is wanted']],
    [{ type: ['status.changed', 'ephd.started'] }, ['ephd started', 'one is Ready']],
    [{ text: 'IS WANTED' }, ['one is wanted', 'two is wanted']],
    [{ since: '2026-01-05T09:20:00Z' }, ['two is wanted', 'one is Ready', 'of a project that left']],
    [{ since: '2026-01-05T10:20:00+01:00', until: '2026-01-05T09:30:00Z' }, ['two is wanted']],
    [{ limit: '2' }, ['one is Ready', 'of a project that left']],
    [{ after: '0000000000000002', limit: '2' }, ['two is wanted', 'one is Ready']],
    [{ before: '0000000000000004', limit: '1' }, ['one is wanted']],
    [{ after: '0000000000000001', before: '0000000000000005' }, ['one is wanted', 'two is wanted']],
  ])('for %o is %o', async (query, messages) => {
    expect(await startWithHistory().list(query)).toEqual(messages);
  });

  it('leaves out what the caller may not see', async () => {
    const { list } = startWithHistory();
    expect(await list({}, viewer)).toEqual(['ephd started', 'one is wanted', 'one is Ready']);
    for (const project of ['bank', 'former', 'nothing']) expect(await list({ project }, viewer)).toEqual([]);
    expect(await list({ text: 'two' }, viewer)).toEqual([]);
  });

  it('leaves out what a rule denies to an admin, and still fills the page', async () => {
    const { events, handlers, list } = startWithHistory();
    expect(await list({}, denied)).toEqual(['ephd started', 'one is wanted', 'one is Ready']);
    for (const project of ['bank', 'former']) expect(await list({ project }, denied)).toEqual([]);
    expect(await list({ limit: '2' }, denied)).toEqual(['one is wanted', 'one is Ready']);
    expect(await list({ limit: '1', after: '0000000000000002' }, denied)).toEqual(['one is Ready']);
    expect(await list({ limit: '1', before: '0000000000000005' }, denied)).toEqual(['one is wanted']);
    const path = { id: inBank.id };
    const asked = { ...call, caller: denied, signal: never };
    expect(await handlers.listEventsOfEnvironment({ ...asked, path, query: { limit: 10 } })).toEqual({ events: [] });
    for (let count = 0; count < 3_000; count += 1) events.append(eventOf('audit.refused', inBank, 'somebody was refused'));
    const { events: audited } = await handlers.listAudit({ ...asked, path: {}, query: { limit: 2 } });
    expect(audited.map(({ message }) => message)).toEqual(['somebody pinned it']);
  });

  it.each([
    ['that sees one project', viewer],
    ['that is denied some', denied],
  ])('is read page by page without gaps by a caller %s', async (_, caller) => {
    const { handlers } = startWithHistory();
    const seen: string[] = [];
    for (let after: string | undefined = '0'.repeat(16); after !== undefined; ) {
      const query = eventQuerySchema.parse({ after, limit: '2' });
      const { events } = await handlers.listEvents({ ...call, path: {}, query, caller, signal: never });
      seen.push(...events.map(({ message }) => message));
      after = events.at(-1)?.id;
    }
    expect(seen).toEqual(['ephd started', 'one is wanted', 'one is Ready']);
  });

  it('of one environment takes its name, or its id, and shows nothing of a hidden one', async () => {
    const { handlers } = startWithHistory();
    const list = async (id: string, caller: Caller) =>
      (await handlers.listEventsOfEnvironment({ ...call, path: { id }, query: { limit: 10 }, caller, signal: never })).events.map(
        ({ message }) => message,
      );
    expect(await list(inShop.name, viewer)).toEqual(['one is wanted', 'one is Ready']);
    expect(await list(inBank.id, admin)).toEqual(['two is wanted']);
    expect(await list(inBank.id, viewer)).toEqual([]);
    expect(await list('f'.repeat(16), viewer)).toEqual([]);
    await expect(list(inBank.name, viewer)).rejects.toMatchObject({ code: 'api.not_found' });
  });

  it('of the audit history has nothing else', async () => {
    const { events, handlers } = startWithHistory();
    events.append(eventOf('audit.refused', null, 'somebody was refused'));
    const list = async (query: object) =>
      (await handlers.listAudit({ ...call, path: {}, query: { limit: 10, ...query }, caller: admin, signal: never })).events.map(
        ({ message }) => message,
      );
    expect(await list({})).toEqual(['somebody pinned it', 'somebody was refused']);
    expect(await list({ type: ['audit.refused'] })).toEqual(['somebody was refused']);
    expect(await list({ project: 'shop' })).toEqual(['somebody pinned it']);
    expect(await list({ limit: 1 })).toEqual(['somebody was refused']);
  });
});

describe('the stream', () => {
  type Query = QueryOf<Routes['followChanges']>;

  const startStream = (query: Query = {}, caller = admin, lastEventId?: EventId) => {
    const { events, statuses, handlers } = start();
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const narrowedTo: ProjectId[] = [];
    const follow = () =>
      handlers.followChanges({
        ...call,
        path: {},
        query,
        caller,
        lastEventId,
        narrowTo: (project) => void narrowedTo.push(project),
        signal: controller.signal,
      }) as AsyncIterable<StreamItem>;
    return { events, statuses, controller, narrowedTo, follow };
  };

  const collect = (stream: AsyncIterable<StreamItem>) => {
    const seen: string[] = [];
    const ended = (async () => {
      for await (const item of stream) seen.push(describeItem(streamItemSchema.parse(item)));
    })();
    // A test that expects an end awaits it.
    ended.catch(() => undefined);
    return { seen, ended };
  };

  const describeItem = (item: StreamItem): string => {
    if (item.type === 'event') return `${item.event.id?.replace(/^0+/, '') ?? '-'} ${item.event.message}`;
    if (item.type === 'status') return `${item.project} ${item.phase} ${item.summary}`;
    return item.type === 'gone' ? `${item.project} gone` : `history ${item.reachable}`;
  };

  /** What was asked for before has arrived. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  const happen = async ({ events, statuses }: Pick<ReturnType<typeof start>, 'events' | 'statuses'>) => {
    await settle();
    events.append(eventOf('ephd.leading', null, 'ephd leads'));
    events.append(eventOf('environment.wanted', inShop, 'one is wanted'));
    events.append(eventOf('audit.changed', inShop, 'somebody pinned it'));
    events.append(eventOf('environment.wanted', inBank, 'two is wanted'));
    await settle();
    statuses.update(inShop, { phase: 'Ready', summary: 'it answers' });
    statuses.update(inShop, { phase: 'Ready', summary: 'it answers' });
    statuses.update(inBank, { phase: 'Failed', summary: 'it does not' });
    statuses.remove(environmentId('c'.repeat(16)));
    statuses.remove(inBank.id);
    await settle();
    statuses.update(inShop, { phase: 'Ready', summary: 'it answers again' });
    await settle();
  };

  it.each<readonly [string, Query, Caller, readonly string[]]>([
    [
      'everything but the audit history',
      {},
      admin,
      ['1 ephd leads', '2 one is wanted', '4 two is wanted', 'shop Ready it answers', 'bank gone', 'shop Ready it answers again'],
    ],
    [
      'what the caller may see',
      {},
      viewer,
      ['1 ephd leads', '2 one is wanted', 'shop Ready it answers', 'shop Ready it answers again'],
    ],
    ['one project', { project: 'bank' }, admin, ['4 two is wanted', 'bank gone']],
    ['one environment by its id', { environment: inBank.id }, admin, ['4 two is wanted', 'bank gone']],
    ['one environment by its name', { environment: inBank.name, project: 'bank' }, admin, ['4 two is wanted', 'bank gone']],
    ['an environment of another project', { environment: inShop.id, project: 'bank' }, admin, []],
    ['an environment that the caller may not see', { environment: inBank.id }, viewer, []],
  ])('has %s', async (_, query, caller, expected) => {
    const started = startStream(query, caller);
    const { seen, ended } = collect(started.follow());
    await happen(started);
    expect(seen).toEqual(expected);
    started.controller.abort();
    await ended;
  });

  it.each([
    [{ project: 'bank' }, viewer],
    [{ project: 'nothing' }, admin],
    [{ environment: inBank.name }, viewer],
  ])('of %o is refused to who may not see it', (query, caller) => {
    expect(startStream(query, caller).follow).toThrow(expect.objectContaining({ code: 'api.not_found' }));
  });

  it('of one project ends with the right to see that one', () => {
    const narrowed = (query: Query, caller: Caller) => {
      const { follow, narrowedTo } = startStream(query, caller);
      follow();
      return narrowedTo;
    };
    expect(narrowed({ project: 'shop' }, viewer)).toEqual([shop]);
    expect(narrowed({ environment: inShop.id }, viewer)).toEqual([shop]);
    expect(narrowed({ environment: inBank.id }, viewer)).toEqual([]);
    expect(narrowed({}, viewer)).toEqual([]);
  });

  it('follows the rules as they change', async () => {
    let sees = shop;
    const started = startStream(
      {},
      callerWho((_, project) => project === sees),
    );
    const { seen } = collect(started.follow());
    await happen(started);
    sees = bank;
    await happen(started);
    expect(seen.slice(4)).toEqual(['5 ephd leads', '8 two is wanted', 'bank gone']);
  });

  it('goes on after the last event that a client has', async () => {
    const after = '0000000000000001';
    const started = startStream({ after });
    await happen(started);
    const byQuery = collect(started.follow());
    await settle();
    expect(byQuery.seen).toEqual(['2 one is wanted', '4 two is wanted']);
    const resumed = startStream({ after }, admin, eventId('0000000000000002'));
    await happen(resumed);
    const byHeader = collect(resumed.follow());
    await settle();
    expect(byHeader.seen).toEqual(['4 two is wanted']);
  });

  it('goes on without ids while history cannot be stored, and says so', async () => {
    const { events, follow } = startStream();
    const { seen } = collect(follow());
    await settle();
    events.fail('the disk is full');
    events.append(eventOf('ephd.leading', null, 'ephd leads'));
    await settle();
    events.recover();
    await settle();
    expect(seen).toEqual(['history false', '- ephd leads', 'history true']);
  });

  it('ends with a marker for a reader that is too slow', async () => {
    const { statuses, follow } = startStream();
    const stream = follow()[Symbol.asyncIterator]();
    for (let index = 0; index <= 10_000; index += 1)
      statuses.update({ ...inShop, id: environmentId(index.toString(16).padStart(16, '0')) }, { phase: 'Ready', summary: '' });
    await expect(stream.next()).rejects.toMatchObject({ code: 'api.too_slow' });
  });

  it('keeps only the newest status of an environment for a slow reader', async () => {
    const { statuses, follow } = startStream();
    const stream = follow()[Symbol.asyncIterator]();
    for (let index = 0; index < 100_000; index += 1) statuses.update(inShop, { phase: 'Ready', summary: String(index) });
    expect(await stream.next()).toMatchObject({ value: { summary: '99999' } });
  });
});
