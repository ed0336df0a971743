import { type Failure, phases } from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import type { Telemetry } from '@eph/engine/loop/telemetry';
import type { ServedRequest } from '@eph/gateway';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { StallWatch } from './stall-watch.ts';

export interface Metrics {
  readonly registry: Registry;
  readonly telemetry: Telemetry;
  readonly requestServed: (request: ServedRequest) => void;
}

type Measured = readonly [value: number, labels: Readonly<Record<string, string>>];

/** Turns the telemetry of the loop into log lines and metrics. */
export const createMetrics = (
  log: Logger,
  engine: () => Engine | undefined,
  events: EventLog,
  stalls: StallWatch,
  budgets: () => readonly { readonly forge: string; readonly account: string; readonly remaining: number }[],
): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const passSeconds = new Histogram({ name: 'eph_pass_duration_seconds', help: 'Duration of a full pass', registers });
  const actions = new Counter({ name: 'eph_actions_total', help: 'Actions taken', labelNames: ['type', 'result'], registers });
  const errors = new Counter({ name: 'eph_errors_total', help: 'Failures by code', labelNames: ['code'], registers });
  const requests = new Counter({
    name: 'eph_gateway_requests_total',
    help: 'Requests by status class',
    labelNames: ['class'],
    registers,
  });
  const gauge = (name: string, help: string, labelNames: string[], read: () => readonly Measured[]): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [value, labels] of read()) this.set(labels, value);
      },
    });
  const count = (name: string, help: string, read: () => number): Gauge => gauge(name, help, [], () => [[read(), {}]]);
  const environments = () => engine()?.environments() ?? [];
  count('eph_queue_depth', 'Keys that wait for a worker', () => engine()?.load.ready ?? 0);
  count('eph_queue_running', 'Keys being reconciled', () => engine()?.load.running ?? 0);
  count('eph_queue_waiting', 'Keys that wait for a time', () => engine()?.load.waiting ?? 0);
  count('eph_reports_waiting', 'Reports that are not on the forge yet', () => engine()?.load.reports ?? 0);
  count('eph_leading', '1 if this ephd reconciles', () => (engine() === undefined ? 0 : 1));
  count('eph_event_log_buffered', 'Events not stored yet', () => events.health().buffered);
  count('eph_event_log_lost', 'Events that could not be stored', () => events.health().lost);
  count('eph_event_log_lost_audit', 'Audit events that could not be stored', () => events.health().lostAudit);
  count(
    'eph_held_deletions',
    'Removals held until an operator releases them',
    () => environments().filter((one) => one.held).length,
  );
  gauge('eph_environments', 'Environments by phase', ['phase'], () =>
    phases.map((phase) => [environments().filter(({ status }) => (status?.phase ?? 'Pending') === phase).length, { phase }]),
  );
  gauge('eph_event_loop_stall_seconds', 'Longest time in which nothing else could run, and what ran', ['during'], () => [
    [stalls.longest.milliseconds / 1000, { during: stalls.longest.during }],
  ]);
  gauge('eph_forge_budget_remaining', 'Remaining requests within the rate limit of a forge', ['forge', 'account'], () =>
    budgets().map(({ remaining, ...labels }) => [remaining, labels]),
  );
  gauge('eph_forge_reading_interval_seconds', 'Longest time between two readings of a repository', ['forge', 'webhooks'], () =>
    [...(engine()?.polling().values() ?? [])]
      .toSorted((a, b) => a.intervalMs - b.intervalMs)
      .map(({ account, isAnnounced, intervalMs }) => [
        intervalMs / 1000,
        { forge: account, webhooks: isAnnounced ? 'yes' : 'no' },
      ]),
  );

  const loggedFaults = new Map<string, string>();
  const logFaults = (project: string, faults: readonly Failure[]): void => {
    const text = faults.map((fault) => `${fault.code}: ${fault.message}`).join('; ');
    if (loggedFaults.get(project) === text || (text === '' && !loggedFaults.has(project))) return;
    if (text === '') {
      loggedFaults.delete(project);
      log.info({ project }, 'all readings are complete again');
    } else {
      loggedFaults.set(project, text);
      log.warn({ project, faults }, 'incomplete reading; nothing will be removed');
    }
  };

  return {
    registry,
    requestServed: ({ status }) => requests.inc({ class: `${Math.floor(status / 100)}xx` }),
    telemetry: {
      began: (key) => stalls.began(key),
      ended: (key) => stalls.ended(key),
      passFinished: (milliseconds) => passSeconds.observe(milliseconds / 1000),
      projectRead: logFaults,
      acted(environment, name, action, failure) {
        actions.inc({ type: action.type, result: failure === undefined ? 'done' : 'failed' });
        const fields = { environment, name, action };
        if (failure === undefined) log.info(fields, 'action done');
        else log.warn({ ...fields, failure }, 'action failed');
      },
      statusChanged: (environment, name, status) =>
        log.info({ environment, name, phase: status.phase, summary: status.summary }, 'status changed'),
      failed(key, failure) {
        errors.inc({ code: failure.code });
        if (failure.disposition === 'bug') log.error({ key, failure }, 'this is a bug in Eph');
        else log.debug({ key, failure }, 'failed');
      },
    },
  };
};
