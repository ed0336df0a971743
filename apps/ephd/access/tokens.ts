import { hash, randomBytes } from 'node:crypto';
import {
  EphError,
  type Person,
  parseJson,
  parsePerson,
  personText,
  printPerson,
  projectPattern,
  type Scope,
  scopes,
  tokenId,
  tokenPrefix,
} from '@eph/contract';
import type { SignedIn, Token } from '@eph/engine/access/caller';
import type { Revocations } from '@eph/engine/access/revocations';
import { clockToleranceMs, longestLifetimeMs } from '@eph/engine/access/token-times';
import { CompactSign, compactVerify, decodeProtectedHeader } from 'jose';
import { z } from 'zod';
import type { Keys } from './keys.ts';

/** Somebody who is here with a token. */
export type TokenCaller = SignedIn & { readonly token: Token };

export type RefusalReason =
  | 'malformed'
  | 'unknown-key'
  | 'bad-signature'
  | 'wrong-audience'
  | 'expired'
  | 'not-yet-valid'
  | 'another-generation'
  | 'revoked'
  /** Whether it is valid cannot be known now. */
  | 'not-ready';

export interface Refusal {
  readonly ok: false;
  /** Stable, for programs. */
  readonly reason: RefusalReason;
  /** What is wrong and what to do, for people. */
  readonly message: string;
  /** Whose token it is, where the signature is right. */
  readonly caller?: TokenCaller;
}

export type Verification = { readonly ok: true; readonly caller: TokenCaller } | Refusal;

export interface TokenRequest {
  readonly person: Person;
  readonly scope: Scope;
  /** Patterns for names of projects; undefined for all that the person has. */
  readonly projects: readonly string[] | undefined;
  readonly lifetimeMs: number;
}

/** What decides whether a token is valid. */
type TokenFacts = Pick<Token, 'id' | 'generation' | 'after' | 'issuedAt' | 'expiresAt'>;

export interface MintedToken extends TokenFacts {
  readonly text: string;
  /** The id of the key that signed it. */
  readonly key: string;
}

export interface TokensOptions {
  /** Or why there are none. */
  readonly keys: Keys | { readonly fault: string };
  readonly revocations: Pick<Revocations, 'state' | 'isRevoked' | 'revokedBefore'>;
  readonly now: () => number;
}

const algorithm = 'Ed25519';
const audience = 'eph';
const type = 'eph+jwt';

/** Node takes 16 KiB for all headers of a request. */
const longestText = 4_096;
const form = new RegExp(`^${tokenPrefix}([\\w-]+\\.[\\w-]+\\.[\\w-]{86})$`);

/** Exactly these: another key, or one that says where the key is, may change what the token means. */
const header = z.strictObject({ alg: z.literal(algorithm), typ: z.literal(type), kid: z.string() });

/** In seconds, as everybody expects of these names, with milliseconds after the point. */
const seconds = z.number().positive();

/** An ephd that does not know a claim does not know what it limits, so others are refused. */
const claims = z.strictObject({
  aud: z.unknown(),
  sub: personText,
  scope: z.enum(scopes),
  projects: z.array(projectPattern).min(1).max(50).optional(),
  jti: tokenId,
  gen: z.string().min(1),
  after: z.number().nonnegative(),
  iat: seconds,
  exp: seconds,
});

const sentences: { readonly [reason in Exclude<RefusalReason, 'not-ready'>]: string } = {
  malformed: 'this is not a token of this version of eph; check that all of it was copied',
  'unknown-key': 'the key that signed the token is not used any more; ask an admin for a new token',
  'bad-signature': 'the signature of the token is wrong; check that all of it was copied',
  'wrong-audience': 'the token is not for the API of eph',
  expired: 'the token has expired; ask an admin for a new one',
  'not-yet-valid': 'the token is not valid yet; check the clocks of the machines that made it and that got it',
  'another-generation': 'the token was made before the server lost its list of revoked tokens; ask an admin for a new one',
  revoked: 'the token was revoked; ask an admin for a new one',
};

const refuse = (reason: keyof typeof sentences): Refusal => ({ ok: false, reason, message: sentences[reason] });

/** A signature is verified once; expiry, revocation and generation each time. 1,000 tokens take about a megabyte. */
const mostVerified = 1_000;

/** Makes and verifies tokens. They are signed and not stored: what one is good for, it says itself. */
export class Tokens {
  readonly #options: TokensOptions;
  /** By the digest of the token, so that no token stays in memory. */
  readonly #verified = new Map<string, TokenCaller>();

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Never throws, whatever the text is. */
  async verify(text: string): Promise<Verification> {
    const { keys } = this.#options;
    const [, signed] = (text.length <= longestText && form.exec(text)) || [];
    if (signed === undefined) return refuse('malformed');
    if ('fault' in keys) return { ok: false, reason: 'not-ready', message: keys.fault };
    const digest = hash('sha256', text, 'base64');
    let caller = this.#verified.get(digest);
    if (caller === undefined) {
      const verification = await verifySignature(signed, keys);
      if (!verification.ok) return verification;
      caller = verification.caller;
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined && this.#verified.size >= mostVerified) this.#verified.delete(oldest);
      this.#verified.set(digest, caller);
    }
    const refusal = this.check(caller);
    return refusal === undefined ? { ok: true, caller } : { ...refusal, caller };
  }

  /** Why a token that was valid is not valid any more; undefined where it is. */
  check({ person, token }: { readonly person: Person; readonly token: TokenFacts }): Refusal | undefined {
    const { revocations, now } = this.#options;
    if (token.expiresAt <= now()) return refuse('expired');
    if (token.issuedAt > now() + clockToleranceMs) return refuse('not-yet-valid');
    const { state } = revocations;
    if (!state.ready) return { ok: false, reason: 'not-ready', message: state.message };
    if (token.generation !== state.generation) return refuse('another-generation');
    return revocations.isRevoked(token, person) ? refuse('revoked') : undefined;
  }

  /** Why tokens of a key are refused; undefined where they are not. */
  checkKey(id: string): Refusal | undefined {
    const { keys } = this.#options;
    if ('fault' in keys) return { ok: false, reason: 'not-ready', message: keys.fault };
    return keys.verifying.has(id) ? undefined : refuse('unknown-key');
  }

  async mint({ person, scope, projects, lifetimeMs }: TokenRequest): Promise<MintedToken> {
    const { keys, revocations, now } = this.#options;
    const { state } = revocations;
    if ('fault' in keys) throw new EphError('config.invalid', keys.fault);
    if (!state.ready) throw new EphError('access.unavailable', state.message);
    if (!(lifetimeMs > 0 && lifetimeMs <= longestLifetimeMs))
      throw new EphError('api.bad_request', 'a token is valid for at most 365 days');
    const issuedAt = now();
    const expiresAt = issuedAt + Math.ceil(lifetimeMs);
    const id = randomBytes(16).toString('base64url');
    const { generation } = state;
    const after = revocations.revokedBefore(person);
    const given = claims.safeParse({
      aud: audience,
      sub: printPerson(person),
      scope,
      ...(projects && { projects }),
      jti: id,
      gen: generation,
      after,
      iat: issuedAt / 1000,
      exp: expiresAt / 1000,
    });
    const [issue] = given.error?.issues ?? [];
    if (issue !== undefined) throw new EphError('api.bad_request', `${issue.path.join('.')}: ${issue.message}`);
    const signed = await new CompactSign(Buffer.from(JSON.stringify(given.data)))
      .setProtectedHeader({ alg: algorithm, typ: type, kid: keys.signing.id })
      .sign(keys.signing.key);
    const text = `${tokenPrefix}${signed}`;
    if (text.length > longestText) throw new EphError('api.bad_request', 'the token would be too long; name fewer projects');
    return { text, key: keys.signing.id, id, generation, after, issuedAt, expiresAt };
  }
}

const verifySignature = async (signed: string, keys: Keys): Promise<Verification> => {
  const given = header.safeParse(readHeader(signed));
  if (!given.success) return refuse('malformed');
  const key = keys.verifying.get(given.data.kid);
  if (key === undefined) return refuse('unknown-key');
  const payload = await compactVerify(signed, key, { algorithms: [algorithm] }).then(
    (verified) => Buffer.from(verified.payload).toString(),
    // Whatever it throws, the token is not one that this key has signed.
    () => undefined,
  );
  return payload === undefined ? refuse('bad-signature') : readClaims(parseJson(payload));
};

const readHeader = (signed: string): unknown => {
  try {
    return decodeProtectedHeader(signed);
  } catch {
    // Not a header at all, which the schema refuses.
    return undefined;
  }
};

const readClaims = (payload: unknown): Verification => {
  const given = claims.safeParse(payload);
  const person = given.success ? parsePerson(given.data.sub) : undefined;
  if (!given.success || person === undefined) return refuse('malformed');
  const { aud, scope, projects, jti: id, gen: generation, after } = given.data;
  const [issuedAt = 0, expiresAt = 0] = [given.data.iat, given.data.exp].map((time) => Math.round(time * 1000));
  if (aud !== audience) return refuse('wrong-audience');
  if (expiresAt - issuedAt > longestLifetimeMs) return refuse('malformed');
  const token = { id, scope, projects, generation, after, issuedAt, expiresAt };
  return { ok: true, caller: { kind: 'person', person, groups: [], repository: undefined, token } };
};
