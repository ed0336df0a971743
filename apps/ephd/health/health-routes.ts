import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import { Hono } from 'hono';
import type { Registry } from 'prom-client';
import type { Leadership } from '../leadership.ts';

export interface HealthOptions {
  readonly leadership: Leadership;
  readonly engine: () => Engine | undefined;
  readonly events: EventLog;
  readonly registry: Registry;
}

export const createHealthRoutes = ({ leadership, engine, events, registry }: HealthOptions): Hono =>
  new Hono()
    .get('/healthz', (c) =>
      c.json({ status: 'ok', leadership: leadership.state, history: events.health(), faults: faultsOf(engine()) }),
    )
    .get('/readyz', (c) => {
      const waiting = waitsFor(leadership, engine());
      return waiting === undefined ? c.json({ status: 'ready' }) : c.json({ status: 'not ready', waitsFor: waiting }, 503);
    })
    .get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }));

const faultsOf = (engine: Engine | undefined): Record<string, unknown> =>
  Object.fromEntries([...(engine?.projects() ?? [])].flatMap(([id, { faults }]) => (faults.length === 0 ? [] : [[id, faults]])));

const waitsFor = (leadership: Leadership, engine: Engine | undefined): string | undefined => {
  if (engine === undefined)
    return leadership.state.state === 'standby' ? `${leadership.state.holder} leads` : 'leadership is not decided yet';
  const unread = [...engine.projects()].flatMap(([id, { isRead }]) => (isRead ? [] : [id]));
  return unread.length === 0 ? undefined : `a first complete reading of ${unread.join(', ')}`;
};
