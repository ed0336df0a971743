import { type Event, type Log, printPerson, type Route } from '@eph/contract';
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
  { record, now, auditLog }: AuditOptions,
): void => {
  const { requestId, method, address, route, caller, environment, project = null, details } = attempt;
  const identity = caller?.identity;
  const event = createAuditEvent({
    at: new Date(now()).toISOString(),
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
  const full = { ...event, details: { ...event.details, ...details } };
  record(full);
  auditLog.info({ audit: event.type, project, ...full.details }, event.message);
};
