import { EphError, type ProjectId } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';

/** What a request is about. */
export interface Located {
  readonly environment?: EnvironmentRecord;
  readonly project?: ProjectId;
}

/** `api.starting` where it may still be found. */
type Code = 'api.not_found' | 'api.starting';

/**
 * A refusal that says to the audit history, and not to the caller, what it is about. Unless it is `api.forbidden`, it is about
 * something that the caller may not see: for them, the same error as for what does not exist.
 */
export class LocatedRefusal extends EphError {
  readonly located: Located;

  constructor(code: Code | 'api.forbidden', message: string, located: Located, retryAfterMs?: number) {
    super(code, message, { retryAfterMs });
    this.located = located;
  }
}

/** Of what does not exist, nothing is said to the audit history. */
export const notFound = (
  message: string,
  hidden: Located | undefined,
  code: Code = 'api.not_found',
  retryAfterMs?: number,
): EphError =>
  hidden === undefined ? new EphError(code, message, { retryAfterMs }) : new LocatedRefusal(code, message, hidden, retryAfterMs);
