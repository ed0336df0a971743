import { eventId, type Person, parsePerson, printPerson, routes, scopes, type TokenList } from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import { z } from 'zod';
import type { MintedToken, RefusalReason, TokenRequest, Tokens } from './tokens.ts';

/** What the audit history holds of a token that was made. Tokens are not stored, so this is all that is known of one later. */
const madeSchema = z.object({
  madeId: z.string(),
  madeFor: z.string(),
  madeScope: z.enum(scopes),
  madeProjects: z.string().nullable(),
  madeAt: z.iso.datetime(),
  madeUntil: z.iso.datetime(),
  madeGeneration: z.string(),
  madeAfter: z.string(),
  madeWithKey: z.string(),
});

export const describeMade = (minted: MintedToken, { person, scope, projects }: TokenRequest): z.output<typeof madeSchema> => ({
  madeId: minted.id,
  madeFor: printPerson(person),
  madeScope: scope,
  madeProjects: projects?.join(' ') ?? null,
  madeAt: new Date(minted.issuedAt).toISOString(),
  madeUntil: new Date(minted.expiresAt).toISOString(),
  madeGeneration: minted.generation,
  madeAfter: String(minted.after),
  madeWithKey: minted.key,
});

/** Those that history remembers, newest first, a page at a time. */
export const listMade = async (
  tokens: Tokens,
  events: Pick<EventLog, 'read'>,
  { person, after, limit }: { readonly person?: string | undefined; readonly after?: string | undefined; readonly limit: number },
): Promise<TokenList> => {
  const page: MadeToken[] = [];
  // Whose token it is, only the details of an event say.
  const most = person === undefined ? limit : mostRead;
  for (let before = after; ; ) {
    const made = await events.read({
      types: ['audit.changed'],
      text: `POST ${routes.createToken.path}: done`,
      ...(before !== undefined && { before: eventId(before) }),
      limit: most,
    });
    for (const { id, details } of made.toReversed()) {
      const token = view(tokens, details);
      if (token === undefined || (person ?? token.person) !== token.person) continue;
      page.push(token);
      if (page.length === limit) return { tokens: page, next: id };
    }
    if (made.length < most) return { tokens: page, next: null };
    before = made[0]?.id;
  }
};

const mostRead = 1_000;

type MadeToken = TokenList['tokens'][number];

const view = (tokens: Tokens, details: unknown): MadeToken | undefined => {
  const made = madeSchema.safeParse(details);
  const person = made.success ? parsePerson(made.data.madeFor) : undefined;
  if (!made.success || person === undefined) return undefined;
  const { madeId: id, madeFor, madeScope: scope, madeProjects, madeAt: createdAt, madeUntil: expiresAt } = made.data;
  const projects = madeProjects?.split(' ') ?? null;
  return { id, person: madeFor, scope, projects, createdAt, expiresAt, state: stateOf(tokens, person, made.data) };
};

const stateOf = (tokens: Tokens, person: Person, made: z.output<typeof madeSchema>): MadeToken['state'] => {
  const token = {
    id: made.madeId,
    generation: made.madeGeneration,
    after: Number(made.madeAfter),
    issuedAt: Date.parse(made.madeAt),
    expiresAt: Date.parse(made.madeUntil),
  };
  const refusal = tokens.checkKey(made.madeWithKey) ?? tokens.check({ person, token });
  return refusal === undefined ? 'valid' : (states[refusal.reason] ?? 'ended');
};

const states: { readonly [reason in RefusalReason]?: MadeToken['state'] } = {
  expired: 'expired',
  revoked: 'revoked',
  'not-ready': 'unknown',
  'not-yet-valid': 'unknown',
};
