import { EphError, tokenProtocol } from '@eph/contract';
import type { Administrator } from '@eph/engine/access/caller';
import type { Access } from '../access/access.ts';
import type { Sessions } from '../access/sessions.ts';
import type { Refusal } from '../access/tokens.ts';
import type { ApiToken } from './api-token.ts';
import type { Caller } from './handlers.ts';

export interface Credentials {
  readonly token: Pick<ApiToken, 'accepts'>;
  readonly sessions: Pick<Sessions, 'find'>;
  readonly access: Pick<Access, 'tokens' | 'of'>;
}

/** Whoever runs as the user of ephd can read the file with its token. */
export const administrator: Administrator = { kind: 'administrator' };

/** Throws for everybody who does not prove who they are. */
export const authenticate = async (headers: Headers, { token, sessions, access }: Credentials): Promise<Caller> => {
  const text = readToken(headers);
  if (text === undefined) throw new EphError('api.unauthorized', 'this needs `Authorization: Bearer` with a token');
  if (token.accepts(text)) return callerOf(administrator, 'file', undefined, access);
  const session = sessions.find(text);
  if (session !== undefined) {
    const caller = callerOf(session.caller, 'session', session, access);
    checkToken(caller, access);
    return caller;
  }
  const verification = await access.tokens.verify(text);
  const { caller } = verification;
  if (!verification.ok) throw new RefusedToken(verification, caller && callerOf(caller, 'token', undefined, access));
  return callerOf(verification.caller, 'token', undefined, access);
};

/** Throws where the token behind a session, or behind the link to one, is not valid any more. */
export const checkToken = (caller: Caller, { tokens }: Pick<Access, 'tokens'>): void => {
  const { identity } = caller;
  const refusal = identity.kind === 'person' && identity.token && tokens.check({ ...identity, token: identity.token });
  if (refusal) throw new RefusedToken(refusal, caller);
};

export const callerOf = (
  identity: Caller['identity'],
  how: Caller['how'],
  session: Caller['session'],
  access: Pick<Access, 'of'>,
): Caller => ({ identity, how, session, may: (permission, project) => access.of(identity).may(permission, project) });

/** A token that is not valid, such as one that was revoked. */
export class RefusedToken extends EphError {
  /** Whose it is, where its signature is right. */
  readonly caller: Caller | undefined;

  constructor({ reason, message }: Refusal, caller: Caller | undefined) {
    super(reason === 'not-ready' ? 'api.starting' : 'api.unauthorized', message);
    this.caller = caller;
  }
}

/** A page cannot set headers on a WebSocket, so it asks for a protocol that is named after the token. */
const readToken = (headers: Headers): string | undefined => {
  const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (bearer !== undefined || headers.get('upgrade') === null) return bearer;
  const protocols = (headers.get('sec-websocket-protocol') ?? '').split(',').map((one) => one.trim());
  return protocols.find((one) => one.startsWith(tokenProtocol))?.slice(tokenProtocol.length);
};
