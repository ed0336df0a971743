import { EphError, type ProjectId } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';

/** What a request is about. */
export interface Located {
  readonly environment?: EnvironmentRecord;
  readonly project?: ProjectId;
}

/**
 * A refusal that says to the audit history, and not to the caller, what it is about. As `api.not_found` it is about something
 * that the caller may not see: for them, the same error as for what does not exist.
 */
export class LocatedRefusal extends EphError {
  readonly located: Located;

  constructor(code: 'api.not_found' | 'api.forbidden', message: string, located: Located) {
    super(code, message);
    this.located = located;
  }
}

/** Of what does not exist, nothing is said to the audit history. */
export const notFound = (message: string, hidden: Located | undefined): EphError =>
  hidden === undefined ? new EphError('api.not_found', message) : new LocatedRefusal('api.not_found', message, hidden);
