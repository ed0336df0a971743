import type { EnvironmentId, Event, ProjectId } from '@eph/contract';

/** What somebody did or tried to do, by a request or by a button of a forge. */
export interface AuditRecord {
  readonly at: string;
  readonly what: 'change' | 'sign-in' | 'read';
  /** Issuer and subject, or `administrator`. Null if the request did not prove who sent it. */
  readonly person: string | null;
  readonly how: 'file' | 'token' | 'session' | 'forge' | 'none';
  /** The id of the token, never the token. */
  readonly tokenId: string | null;
  readonly permission: string;
  readonly method: string;
  /** The pattern, such as `/api/v1/environments/{id}/release`. */
  readonly route: string;
  readonly project: ProjectId | null;
  readonly environment: EnvironmentId | null;
  /** That of the environment. */
  readonly name: string | null;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** Why it was refused or failed. */
  readonly reason: string | null;
  /** Null where it was no request to ephd, as with `address`. */
  readonly requestId: string | null;
  readonly address: string | null;
}

/** Refusals have a type of their own, so that a flood of them does not push out what was done. */
export const createAuditEvent = ({ at, what, project, environment, ...details }: AuditRecord): Event => {
  const { person, method, route, name, outcome, reason } = details;
  const type = outcome === 'refused' ? 'audit.refused' : what === 'sign-in' ? 'audit.signed_in' : 'audit.changed';
  const target = name ?? project;
  const request = `${method} ${route}${target === null ? '' : ` for ${target}`}`;
  const who = person ?? (details.how === 'forge' ? 'somebody on the forge' : 'somebody');
  const message = `${who}: ${request}: ${outcome}${reason === null ? '' : `, ${reason}`}`;
  return { at, type, project, environment, message, details: { what, ...details } };
};
