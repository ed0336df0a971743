import { beforeAllEvents, projectId } from '@eph/contract';
import { expect } from 'vitest';
import type { Store } from './store.ts';

/** The store was opened on a database of the first version, with two events. */
export const expectOldEvents = async ({ events }: Store): Promise<void> => {
  events.append({
    at: '2026-01-05T09:00:00.000Z',
    type: 'status.changed',
    project: projectId('shop'),
    environment: null,
    message: 'new',
    details: {},
  });
  await events.flush();
  const all = await events.read({ limit: 10 });
  expect(all.map(({ message }) => message)).toEqual(['old 1', 'old 2', 'new']);
  expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
  const [first = beforeAllEvents, , last = beforeAllEvents] = all.map(({ id }) => id);
  expect(all[1]).toMatchObject({ type: 'environment.removed', project: 'blog', details: { name: 'x' } });
  const since = new Date('2026-01-05T08:15:00Z');
  for (const [query, expected] of [
    [{ after: first }, ['old 2', 'new']],
    [{ before: last }, ['old 1', 'old 2']],
    [{ projects: [projectId('shop')] }, ['old 1', 'new']],
    [{ types: ['environment.'] }, ['old 2']],
    [{ since }, ['old 2', 'new']],
    [{ until: since }, ['old 1']],
  ] as const)
    expect((await events.read({ ...query, limit: 10 })).map(({ message }) => message)).toEqual(expected);
  expect(events.health()).toMatchObject({ reachable: true, lost: 0 });
};
