import { EphError, routes } from '@eph/contract';
import type { LogOptions } from '@eph/engine/provider/provider';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it } from 'vitest';
import { administrator } from '../api/authenticate.ts';
import { createReadyRecord } from '../environment-record.fake.ts';
import { createEnvironmentHandlers } from './environment-handlers.ts';

describe('logs since a while ago', () => {
  it('are those since then by the clock of ephd', async () => {
    const clock = new ManualClock(Date.parse('2031-05-05T12:00:00Z'));
    const asked: LogOptions[] = [];
    const provider = new FakeProvider(createFakeInfrastructure(), { now: () => clock.now() });
    const logs = provider.logs.bind(provider);
    provider.logs = (id, component, options) => {
      asked.push(options);
      return logs(id, component, options);
    };
    const handlers = createEnvironmentHandlers({
      engine: () => {
        throw new EphError('api.standby', 'logs need no engine');
      },
      clock,
      providerOf: () => provider,
      urlOf: (name) => name,
      aliasOf: () => undefined,
      away: () => new Set(),
    });
    const environment = createReadyRecord('preview/x');
    const lines = await handlers.readLogs({
      path: { id: environment.id },
      query: routes.readLogs.query.parse({ since: '10m' }),
      body: undefined,
      environment,
      caller: { identity: administrator, how: 'file', session: undefined, may: () => true },
      lastEventId: undefined,
      addToAudit: () => undefined,
      signIn: () => undefined,
      narrowTo: () => undefined,
      signal: new AbortController().signal,
    });
    for await (const _ of lines) throw new Error('there are no lines');
    expect(asked.map(({ since }) => since?.toISOString())).toEqual(['2031-05-05T11:50:00.000Z']);
  });
});
