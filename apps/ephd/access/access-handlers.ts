import {
  EphError,
  type Person,
  type ProjectId,
  parseDuration,
  parsePerson,
  printPerson,
  type RevocationView,
  tokenId,
} from '@eph/contract';
import type { RevocationAnswer } from '@eph/engine/access/revocations';
import type { EventLog } from '@eph/engine/history/event-log';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { callerOf, checkToken } from '../api/authenticate.ts';
import { findProject, type ProjectIds } from '../api/find-project.ts';
import type { Caller, Handlers } from '../api/handlers.ts';
import type { Access } from './access.ts';
import { describeMade, listMade } from './made-tokens.ts';
import type { Sessions } from './sessions.ts';

export interface AccessHandlersOptions {
  readonly access: Access;
  readonly sessions: Sessions;
  readonly events: Pick<EventLog, 'read'>;
  readonly now: () => number;
  /** Where people reach ephd. */
  readonly url: () => string;
  readonly find: (text: string, caller: Caller) => EnvironmentRecord;
  readonly projects: ProjectIds;
}

/** Faults quote the rules of others. */
const hiddenFault = 'the rules may not be those of the newest commit; an admin sees why';

type AccessRoute =
  | 'readAccount'
  | 'explainAccess'
  | 'createSessionCode'
  | 'createSession'
  | 'endSession'
  | 'listTokens'
  | 'createToken'
  | 'revokeToken'
  | 'revokePerson';

export const createAccessHandlers = (options: AccessHandlersOptions): Handlers<AccessRoute> => {
  const { access, sessions, events, now, url, find, projects } = options;
  const time = (ms: number): string => new Date(ms).toISOString();
  const projectOf = (environment: string | undefined, project: string | undefined, caller: Caller): ProjectId | undefined => {
    if (environment !== undefined) return find(environment, caller).project;
    return project === undefined ? undefined : findProject(project, projects, caller);
  };
  return {
    readAccount({ caller: { identity, how, session } }) {
      const { person, token } = identity.kind === 'person' ? identity : {};
      const expiresAt = session?.expiresAt ?? token?.expiresAt;
      return {
        how,
        person: person === undefined ? null : printPerson(person),
        tokenId: token?.id ?? null,
        scope: token?.scope ?? 'admin',
        projects: token?.projects === undefined ? null : [...token.projects],
        expiresAt: expiresAt === undefined ? null : time(expiresAt),
        now: time(now()),
      };
    },
    explainAccess({ caller, query: { person: about, permission, environment, project: named } }) {
      const { identity } = caller;
      const own = identity.kind === 'person' ? printPerson(identity.person) : null;
      const isOther = about !== undefined && about !== own;
      if (isOther && !caller.may('rules.read'))
        throw new EphError('api.forbidden', 'only an admin may ask what somebody else may do');
      const project = projectOf(environment, named, caller);
      const { allowed, because } = isOther
        ? access.explain(readPerson(about), permission, project)
        : access.of(identity).decide(permission, project);
      const { faults } = access.rules;
      const shown = caller.may('rules.read') ? faults.map(({ message }) => message) : faults.slice(0, 1).map(() => hiddenFault);
      return { person: about ?? own, allowed, because, faults: shown };
    },
    createSessionCode({ caller }) {
      const { expiresAt, ...link } = sessions.createLink(caller.identity, url());
      return { ...link, expiresAt: time(expiresAt) };
    },
    createSession({ body: { code }, signIn }) {
      const { token, session } = sessions.create(code, (identity) => {
        checkToken(callerOf(identity, 'session', undefined, access), access);
        const { allowed, because } = access.of(identity).decide('account.read');
        if (!allowed) throw new EphError('api.forbidden', because);
      });
      signIn(session);
      return { token, expiresAt: time(session.expiresAt) };
    },
    async endSession({ caller: { identity, session } }) {
      if (session !== undefined) {
        session[Symbol.dispose]();
        return { missing: null };
      }
      const token = identity.kind === 'person' ? identity.token : undefined;
      if (token === undefined)
        throw new EphError('api.conflict', 'the token in the file of ephd cannot be revoked; it ends when ephd stops');
      return revoked(await access.revocations.revokeToken(token.id, token.expiresAt));
    },
    listTokens: ({ query }) => listMade(access.tokens, events, query),
    async createToken({ body: { person, scope, projects: patterns, for: lifetime }, addToAudit }) {
      const lifetimeMs = (parseDuration(lifetime) ?? 0) * 1000;
      const request = { person: readPerson(person), scope, projects: patterns, lifetimeMs };
      const minted = await access.tokens.mint(request);
      addToAudit(describeMade(minted, request));
      const { id, text: token, issuedAt, expiresAt } = minted;
      return { id, token, person, scope, projects: patterns ?? null, createdAt: time(issuedAt), expiresAt: time(expiresAt) };
    },
    async revokeToken({ path, addToAudit }) {
      const id = tokenId.safeParse(path.token);
      if (!id.success) throw new EphError('api.bad_request', `${JSON.stringify(path.token)} ${id.error.issues[0]?.message}`);
      addToAudit({ revokedId: id.data });
      return revoked(await access.revocations.revokeToken(id.data));
    },
    async revokePerson({ query: { person }, addToAudit }) {
      addToAudit({ revokedPerson: person });
      return revoked(await access.revocations.revokePerson(readPerson(person)));
    },
  };
};

const revoked = ({ missing }: RevocationAnswer): RevocationView => ({ missing: missing ?? null });

/** The form was checked already. */
const readPerson = (text: string): Person => {
  const person = parsePerson(text);
  if (person === undefined) throw new EphError('api.bad_request', `${JSON.stringify(text)} is not <issuer>#<subject>`);
  return person;
};
