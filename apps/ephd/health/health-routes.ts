import type { ProviderName } from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import type { Provider } from '@eph/engine/provider/provider';
import { Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { Leadership } from '../leadership.ts';

export interface HealthOptions {
  readonly leadership: Leadership;
  readonly engine: () => Engine | undefined;
  readonly events: EventLog;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
}

export const createHealthRoutes = ({ leadership, engine, events, providers }: HealthOptions): Hono => {
  // Once ready, always ready: projects that join later have not been read yet.
  const ready = new WeakSet<Engine>();
  const waitsFor = (leader = engine()): string | undefined => {
    if (leader === undefined)
      return leadership.state.state === 'standby' ? `${leadership.state.holder} leads` : 'leadership is not decided yet';
    if (ready.has(leader)) return undefined;
    const unread = [...leader.projects()].flatMap(([id, { isRead }]) => (isRead ? [] : [id]));
    if (unread.length > 0) return `a first complete reading of ${unread.join(', ')}`;
    ready.add(leader);
    return undefined;
  };
  return new Hono()
    .get('/healthz', (c) =>
      c.json({
        status: 'ok',
        leadership: leadership.state,
        history: events.health(),
        isolation: Object.fromEntries(Array.from(providers, ([name, { isolation }]) => [name, isolation])),
        faults: faultsOf(engine()),
      }),
    )
    .get('/readyz', (c) => {
      const waiting = waitsFor();
      return waiting === undefined ? c.json({ status: 'ready' }) : c.json({ status: 'not ready', waitsFor: waiting }, 503);
    });
};

export const createMetricsRoutes = (registry: Registry): Hono =>
  new Hono().get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }));

const faultsOf = (engine: Engine | undefined): Record<string, unknown> =>
  Object.fromEntries([...(engine?.projects() ?? [])].flatMap(([id, { faults }]) => (faults.length === 0 ? [] : [[id, faults]])));
