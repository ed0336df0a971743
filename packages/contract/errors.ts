import { redact } from './redact.ts';

/**
 * What happens after a failure.
 * - `retry`: nobody needs to act; the key is retried with growing back-off.
 * - `wait`: nothing is wrong; something else has to happen first, and wakes the key when it does.
 * - `stall`: a person or a new commit must act; a retry changes nothing.
 * - `bug`: an invariant of Eph is broken; logged as an error, retried slowly.
 */
export type Disposition = 'retry' | 'wait' | 'stall' | 'bug';

/** Every code Eph can report. Codes are stable: scripts and alerts match on them, never on the message. */
export const errorCodes = {
  'forge.unreachable': 'retry',
  'forge.incomplete': 'retry',
  'forge.refused': 'stall',
  'source.commit_missing': 'retry',
  'spec.missing': 'stall',
  'spec.invalid': 'stall',
  'spec.unreadable': 'retry',
  'reference.unknown': 'stall',
  'reference.cycle': 'stall',
  'reference.waiting': 'wait',
  'reference.refused': 'stall',
  'artifact.missing': 'wait',
  'artifact.not_found': 'wait',
  'registry.unreachable': 'retry',
  'registry.refused': 'stall',
  'cluster.unreachable': 'retry',
  'cluster.refused': 'stall',
  'object.missing': 'retry',
  'object.conflict': 'retry',
  'object.expired': 'retry',
  'object.refused': 'stall',
  'object.immutable': 'stall',
  'provider.unknown': 'stall',
  'isolation.missing': 'stall',
  'provider.unreachable': 'retry',
  'provider.incomplete': 'retry',
  'component.refused': 'stall',
  'component.not_ready': 'wait',
  'component.stalled': 'stall',
  'component.draining': 'wait',
  'component.removing': 'wait',
  'checkout.refused': 'stall',
  'checkout.failed': 'retry',
  'disk.full': 'retry',
  'port.unavailable': 'retry',
  'report.failed': 'retry',
  'store.unreachable': 'retry',
  'access.unavailable': 'retry',
  'lease.held': 'stall',
  'plan.held': 'stall',
  'plan.superseded': 'wait',
  'plan.paused': 'wait',
  'plan.expired': 'wait',
  'source.checks': 'wait',
  'config.invalid': 'stall',
  'config.missing': 'stall',
  'config.unreadable': 'retry',
  'policy.exceeded': 'stall',
  'policy.full': 'wait',
  'feature.unavailable': 'stall',
  'api.not_found': 'stall',
  'api.method_not_allowed': 'stall',
  'api.bad_request': 'stall',
  'api.conflict': 'stall',
  'api.forbidden': 'stall',
  'api.unauthorized': 'stall',
  'api.standby': 'wait',
  'api.starting': 'wait',
  'api.too_many': 'wait',
  'api.too_large': 'stall',
  'api.too_slow': 'retry',
  'api.stopping': 'wait',
  internal: 'bug',
} as const satisfies Record<string, Disposition>;

export type ErrorCode = keyof typeof errorCodes;

/** A failure as plain data: what statuses, events and the API carry. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly disposition: Disposition;
  /** For `retry` and `wait`: not before this many milliseconds from now. */
  readonly retryAfterMs?: number;
}

const mark = Symbol.for('eph.error');

export class EphError extends Error {
  readonly [mark] = true;
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfterMs?: number | undefined } = {}) {
    super(redact(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EphError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  get disposition(): Disposition {
    return errorCodes[this.code];
  }
}

/** Checks a mark and not the class: two copies of this module may be loaded. */
export const isEphError = (error: unknown): error is EphError =>
  typeof error === 'object' && error !== null && (error as { [mark]?: unknown })[mark] === true;

/** Messages quote untrusted text, and are copied into statuses, events and reports. */
const messageLimit = 2_000;

export const failure = (code: ErrorCode, message: string, retryAfterMs?: number): Failure => ({
  code,
  message: clip(redact(message)),
  disposition: errorCodes[code],
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

const clip = (text: string): string => (text.length > messageLimit ? `${text.slice(0, messageLimit - 1)}…` : text);

/** Any thrown value as data. Anything but an `EphError` is a bug. */
export const toFailure = (error: unknown): Failure => {
  if (isEphError(error)) return failure(error.code, error.message, error.retryAfterMs);
  return failure('internal', error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${print(error)}`);
};

/** `String()` throws for objects without a prototype. */
const print = (thrown: unknown): string =>
  typeof thrown === 'object' && thrown !== null ? Object.prototype.toString.call(thrown) : String(thrown);
