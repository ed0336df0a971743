import { type ProjectId, projectId, type ServerView } from '@eph/contract';
import { FakeEventLog } from '@eph/engine/history/event-log.fake';
import { EngineHarness } from '@eph/engine/loop/engine-harness.fake';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { administrator } from '../api/authenticate.ts';
import { Leadership } from '../leadership.ts';
import { createHealthHandlers } from './health-handlers.ts';

const [shop, bank] = [projectId('shop'), projectId('bank')];

/** How ephd is for somebody who sees these projects, while its provider does not answer. */
const readServer = async (...visible: readonly ProjectId[]): Promise<ServerView> => {
  const harness = new EngineHarness().start();
  onTestFinished(() => harness.engine.close());
  harness.away.add('process');
  await harness.live(60);
  const handlers = createHealthHandlers({
    leadership: new Leadership(
      () => {},
      () => Promise.resolve(),
    ),
    engine: () => harness.engine,
    events: new FakeEventLog(),
    providers: harness.providers,
    budgets: () => [
      { forge: 'work', account: 'installation 7', remaining: 12 },
      { forge: 'money', account: 'installation 9', remaining: 34 },
    ],
    projects: new Map([
      [shop, { forge: { name: 'work' } }],
      [bank, { forge: { name: 'money' } }],
    ]),
    registry: new Registry(),
    version: '1.0.0',
  });
  return await handlers.readServer({
    path: {},
    query: undefined,
    body: undefined,
    environment: undefined,
    caller: {
      identity: administrator,
      how: 'file',
      session: undefined,
      may: (_, project) => visible.some((one) => one === project),
    },
    lastEventId: undefined,
    addToAudit: () => undefined,
    signIn: () => undefined,
    narrowTo: () => undefined,
    signal: new AbortController().signal,
  });
};

describe('how ephd is', () => {
  it('is told in full to those who see every project', async () => {
    expect(await readServer(shop, bank)).toMatchObject({
      away: { process: { code: 'provider.unreachable', message: 'process does not answer' } },
      budgets: [{ forge: 'work' }, { forge: 'money' }],
    });
  });

  it('is told to others without what may be about projects that they do not see', async () => {
    const { away, budgets } = await readServer(shop);
    expect(away).toEqual({ process: { code: 'provider.unreachable', message: 'provider process could not be read completely' } });
    expect(budgets).toEqual([{ forge: 'work', account: 'installation 7', remaining: 12 }]);
  });
});
