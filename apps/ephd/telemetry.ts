import { type Failure, type Phase, phases } from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import type { Telemetry } from '@eph/engine/loop/telemetry';
import type { ServedRequest } from '@eph/gateway';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  readonly telemetry: Telemetry;
  readonly requestServed: (request: ServedRequest) => void;
}

/** Turns the telemetry of the loop into log lines and metrics. */
export const createMetrics = (
  log: Logger,
  engine: () => Engine | undefined,
  events: EventLog,
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
  gauge('eph_queue_depth', 'Keys that wait for a worker', () => engine()?.load.ready ?? 0, registers);
  gauge('eph_queue_running', 'Keys being reconciled', () => engine()?.load.running ?? 0, registers);
  gauge('eph_queue_waiting', 'Keys that wait for a time', () => engine()?.load.waiting ?? 0, registers);
  gauge('eph_leading', '1 if this ephd reconciles', () => (engine() === undefined ? 0 : 1), registers);
  gauge('eph_event_log_buffered', 'Events not stored yet', () => events.health().buffered, registers);
  gauge('eph_event_log_lost', 'Events that could not be stored', () => events.health().lost, registers);
  const environments = () => engine()?.environments() ?? [];
  const countHeld = () => environments().filter((one) => one.held).length;
  gauge('eph_held_deletions', 'Removals held until an operator releases them', countHeld, registers);
  phaseGauge(environments, registers);
  // oxlint-disable-next-line no-new -- it registers itself
  new Gauge({
    name: 'eph_forge_budget_remaining',
    help: 'Remaining requests within the rate limit of a forge',
    labelNames: ['forge', 'account'],
    registers,
    collect() {
      this.reset();
      for (const { forge, account, remaining } of budgets()) this.set({ forge, account }, remaining);
    },
  });

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

const gauge = (name: string, help: string, read: () => number, registers: Registry[]): Gauge =>
  new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(read());
    },
  });

const phaseGauge = (environments: () => ReturnType<Engine['environments']>, registers: Registry[]): Gauge<'phase'> =>
  new Gauge({
    name: 'eph_environments',
    help: 'Environments by phase',
    labelNames: ['phase'],
    registers,
    collect() {
      const counts = new Map<Phase, number>(phases.map((phase) => [phase, 0]));
      for (const { status } of environments()) {
        const phase = status?.phase ?? 'Pending';
        counts.set(phase, (counts.get(phase) ?? 0) + 1);
      }
      for (const [phase, count] of counts) this.set({ phase }, count);
    },
  });
