import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import {
  type AccountView,
  accountSchema,
  type DecisionView,
  decisionSchema,
  type EventView,
  eventListSchema,
  type NewToken,
  newTokenSchema,
  problemSchema,
  problemType,
  type RevocationView,
  revocationAnswerSchema,
  sessionCodeSchema,
  type TokenList,
  tokenListSchema,
} from '@eph/contract';

/** What the fake ephd says about people, tokens and the audit history. */
export interface FakeAccess {
  /** By token. The token file has none. */
  readonly accounts: Map<string, AccountView>;
  /** What is said to others. */
  refusal: string;
  decision: DecisionView;
  newToken: NewToken;
  tokens: TokenList;
  revocation: RevocationView;
  audit: readonly EventView[];
  /** The bodies of requests. */
  readonly bodies: unknown[];
}

const at = '2026-11-15T09:00:00.000Z';
const expiresAt = '2026-12-15T09:00:00.000Z';

export const fakeAccount = (changes: Partial<AccountView> = {}): AccountView => ({
  how: 'token',
  person: 'https://id.example.com#4711',
  tokenId: 'AAAAAAAAAAAAAAAAAAAAAA',
  scope: 'write',
  projects: ['shop', 'shop-*'],
  expiresAt,
  now: at,
  ...changes,
});

const administrator = fakeAccount({
  how: 'file',
  person: null,
  tokenId: null,
  scope: 'admin',
  projects: null,
  expiresAt: null,
});

const token = {
  id: 'AAAAAAAAAAAAAAAAAAAAAA',
  person: 'https://id.example.com#4711',
  scope: 'read' as const,
  projects: ['shop'],
  createdAt: at,
  expiresAt,
};

export const createFakeAccess = (): FakeAccess => ({
  accounts: new Map(),
  refusal: 'this needs the token of ephd',
  decision: {
    person: token.person,
    allowed: true,
    because: 'ephd.yaml:3 gives the role developer in project shop',
    faults: [],
  },
  newToken: { ...token, token: 'eph_a.b.c' },
  tokens: { tokens: [{ ...token, state: 'valid' }], next: null },
  revocation: { missing: null },
  audit: [],
  bodies: [],
});

export const fakeAuditEvent = (number: number): EventView => ({
  id: String(number).padStart(16, '0'),
  at,
  type: 'audit.changed',
  project: 'shop',
  environment: null,
  message: `change ${number}`,
  details: { person: 'https://id.example.com#4711', how: 'token' },
});

export const answerAccess = async (
  access: FakeAccess,
  caller: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://ephd');
  const body = (await buffer(request)).toString();
  if (body !== '') access.bodies.push(JSON.parse(body));
  const reply = answers[`${request.method} ${pathname.replace('/api/v1', '').replace(/^(\/tokens)\/.*/, '$1/id')}`];
  const answer = reply?.(access, caller, searchParams);
  if (answer !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    return;
  }
  const detail = `${request.method} ${pathname} is not faked`;
  const problem = { type: 'about:blank', title: 'Failed', status: 404, detail, code: 'api.not_found', requestId: 'r1' };
  response.writeHead(404, { 'content-type': problemType }).end(JSON.stringify(problemSchema.parse(problem)));
};

type Reply = (access: FakeAccess, caller: string, query: URLSearchParams) => unknown;

const answers: Readonly<Record<string, Reply>> = {
  'GET /auth/status': ({ accounts }, caller) => accountSchema.parse(accounts.get(caller) ?? administrator),
  'GET /auth/why': ({ decision }) => decisionSchema.parse(decision),
  'POST /auth/codes': () => sessionCodeSchema.parse({ code: 'c0de', url: 'http://127.0.0.1:7070/#code=c0de', expiresAt }),
  'POST /auth/logout': ({ accounts, revocation }, caller) => {
    accounts.delete(caller);
    return revocationAnswerSchema.parse(revocation);
  },
  'GET /tokens': ({ tokens }) => tokenListSchema.parse(tokens),
  'POST /tokens': ({ newToken }) => newTokenSchema.parse(newToken),
  'DELETE /tokens': ({ revocation }) => revocationAnswerSchema.parse(revocation),
  'DELETE /tokens/id': ({ revocation }) => revocationAnswerSchema.parse(revocation),
  'GET /audit': ({ audit }, _, query) => {
    const after = query.get('after');
    const limit = Number(query.get('limit'));
    const events = after === null ? audit.slice(-limit) : audit.filter(({ id }) => id > after).slice(0, limit);
    return eventListSchema.parse({ events });
  },
};
