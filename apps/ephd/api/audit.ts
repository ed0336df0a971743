import {
  describeSource,
  type EnvironmentId,
  type EnvironmentName,
  type Event,
  type Log,
  type ProjectId,
  printPerson,
  type Route,
  routes,
  type SourceRef,
} from '@eph/contract';
import { type AuditRecord, createAuditEvent } from '@eph/engine/history/audit-event';
import type { Caller } from './handlers.ts';
import type { Located } from './located-refusal.ts';

/** What is known of a request so far, for the audit history. */
export interface Attempt extends Located {
  readonly requestId: string;
  readonly method: string;
  readonly address: string;
  /** Undefined for a path that no route has. */
  readonly route?: Route;
  readonly caller?: Caller;
  readonly details?: Event['details'];
}

export interface AuditOptions {
  readonly record: (event: Event) => void;
  readonly now: () => number;
  readonly auditLog: Pick<Log, 'info'>;
}

/** Every change and sign-in, and what was refused, is an event and a line in the log. */
export const recordAttempt = (
  attempt: Attempt,
  outcome: AuditRecord['outcome'],
  reason: string | null,
  options: AuditOptions,
): void => {
  const { requestId, method, address, route, caller, environment, project = null, details } = attempt;
  const identity = caller?.identity;
  const event = createAuditEvent({
    at: new Date(options.now()).toISOString(),
    what: route?.audit ?? 'read',
    person: identity === undefined ? null : identity.kind === 'person' ? printPerson(identity.person) : identity.kind,
    how: caller?.how ?? 'none',
    tokenId: (identity?.kind === 'person' && identity.token?.id) || null,
    permission: route?.permission ?? 'none',
    method,
    route: route?.path ?? 'unknown',
    project,
    environment: environment?.id ?? null,
    name: environment?.name ?? null,
    outcome,
    reason,
    requestId,
    address,
  });
  keep({ ...event, details: { ...event.details, ...details } }, options);
};

export interface Stop {
  readonly project: ProjectId;
  readonly ref: SourceRef;
  readonly environment: EnvironmentId;
  /** Null where there is no such environment any more. */
  readonly name: EnvironmentName | null;
}

/** Somebody pressed a button of the forge, which does not say who. For ephd, it is the request that it stands for. */
export const recordStop = (
  { project, ref, environment, name }: Stop,
  outcome: AuditRecord['outcome'],
  reason: string | null,
  options: AuditOptions,
): void => {
  const { method, path, permission } = routes.removeEnvironment;
  const event = createAuditEvent({
    at: new Date(options.now()).toISOString(),
    what: 'change',
    person: null,
    how: 'forge',
    tokenId: null,
    permission,
    method,
    route: path,
    project,
    environment,
    name,
    outcome,
    reason,
    requestId: null,
    address: null,
  });
  keep({ ...event, details: { ...event.details, source: describeSource(ref) } }, options);
};

const keep = (event: Event, { record, auditLog }: AuditOptions): void => {
  record(event);
  auditLog.info({ audit: event.type, project: event.project, ...event.details }, event.message);
};
