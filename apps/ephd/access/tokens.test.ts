import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { type Scope, silentLog } from '@eph/contract';
import { FakeRevocationStore } from '@eph/engine/access/revocation-store.fake';
import { Revocations } from '@eph/engine/access/revocations';
import { ManualClock } from '@eph/engine/time/clock.fake';
import * as fc from 'fast-check';
import { type CompactJWSHeaderParameters, CompactSign, exportJWK } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Keys, parseKeys } from './keys.ts';
import { type RefusalReason, type TokenCaller, type TokenRequest, Tokens } from './tokens.ts';

const hour = 60 * 60_000;
const year = 365 * 24 * hour;
const person = { issuer: 'https://id.example.com', subject: '4711' };
const request: TokenRequest = { person, scope: 'read', projects: undefined, lifetimeMs: hour };

const newKeys = (...more: readonly string[]): { keys: Keys; text: string } => {
  const text = randomBytes(32).toString('base64url');
  const keys = parseKeys([text, ...more].join(' '));
  if (keys === undefined) throw new Error('no keys');
  return { keys, text };
};

const startTokens = async (keys: Keys = newKeys().keys) => {
  const clock = new ManualClock();
  const file = new FakeRevocationStore('file', () => clock.now());
  const createGeneration = () => randomBytes(16).toString('base64url');
  const revocations = new Revocations({ file, database: undefined, clock, createGeneration, log: silentLog });
  onTestFinished(() => revocations[Symbol.asyncDispose]());
  await revocations.refresh();
  const tokens = new Tokens({ keys, revocations, now: () => clock.now() });
  const reasonOf = async (text: string): Promise<RefusalReason | 'valid'> => {
    const verification = await tokens.verify(text);
    return verification.ok ? 'valid' : verification.reason;
  };
  const verified = async (text: string): Promise<TokenCaller> => {
    const verification = await tokens.verify(text);
    if (!verification.ok) throw new Error(verification.message);
    return verification.caller;
  };
  /** Signs anything with the key of the server, as only somebody could who has that key. */
  const forge = async (changes: object, header: Partial<CompactJWSHeaderParameters> = {}): Promise<string> => {
    const { text } = await tokens.mint(request);
    const claims = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as object;
    const signed = await new CompactSign(Buffer.from(JSON.stringify({ ...claims, ...changes })))
      .setProtectedHeader({ alg: 'Ed25519', typ: 'eph+jwt', kid: keys.signing.id, ...header })
      .sign(keys.signing.key);
    return `eph_${signed}`;
  };
  return { clock, file, keys, revocations, tokens, reasonOf, verified, forge };
};

/** The header and claims of a token, encoded again with another header. */
const withHeader = (text: string, header: object, signature = text.split('.')[2] ?? ''): string =>
  `eph_${Buffer.from(JSON.stringify(header)).toString('base64url')}.${text.split('.')[1]}.${signature}`;

describe('a token', () => {
  it('says whose it is and what it is good for', async () => {
    const { tokens, clock, verified } = await startTokens();
    const minted = await tokens.mint({ person, scope: 'write', projects: ['shop', 'web-*'], lifetimeMs: hour });
    expect(minted.text).toMatch(/^eph_[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(minted.text.length).toBeLessThan(500);
    expect(minted.expiresAt).toBe(clock.now() + hour);
    expect(await verified(minted.text)).toEqual({
      kind: 'person',
      person,
      groups: [],
      repository: undefined,
      token: {
        id: minted.id,
        scope: 'write',
        projects: ['shop', 'web-*'],
        generation: expect.any(String),
        after: 0,
        issuedAt: clock.now(),
        expiresAt: clock.now() + hour,
      },
    });
  });

  it('holds no name and no address, and no two are the same', async () => {
    const { tokens } = await startTokens();
    const [one, other] = await Promise.all([tokens.mint(request), tokens.mint(request)]);
    expect(one.id).not.toBe(other.id);
    const claims = JSON.parse(Buffer.from(one.text.split('.')[1] ?? '', 'base64url').toString()) as object;
    expect(Object.keys(claims).toSorted()).toEqual(['after', 'aud', 'exp', 'gen', 'iat', 'jti', 'scope', 'sub']);
  });

  it.each<readonly [Partial<TokenRequest>, RegExp]>([
    [{ lifetimeMs: year + 1 }, /at most 365 days/],
    [{ lifetimeMs: 0 }, /at most 365 days/],
    [{ lifetimeMs: Number.NaN }, /at most 365 days/],
    [{ scope: 'root' as Scope }, /scope/],
    [{ person: { issuer: 'a#b', subject: 'c' } }, /is not an issuer/],
    [{ person: { issuer: 'eph', subject: '' } }, /sub: must be <issuer>#<subject>/],
    [{ person: { issuer: 'eph', subject: 'a\nb' } }, /sub/],
    [{ projects: [] }, /projects/],
    [{ projects: ['../x'] }, /projects.0: must be the name of a project/],
    [{ projects: Array.from({ length: 51 }, () => 'a') }, /projects/],
    [{ projects: Array.from({ length: 50 }, () => 'a'.repeat(90)) }, /name fewer projects/],
  ])('is not made of %j', async (changes, message) => {
    const { tokens } = await startTokens();
    await expect(tokens.mint({ ...request, ...changes })).rejects.toMatchObject({
      code: 'api.bad_request',
      message: expect.stringMatching(message),
    });
  });

  it('may be valid for a year, and ends then', async () => {
    const { tokens, clock, reasonOf } = await startTokens();
    const { text } = await tokens.mint({ ...request, lifetimeMs: year });
    clock.advance(year - 1);
    expect(await reasonOf(text)).toBe('valid');
    clock.advance(1);
    expect(await reasonOf(text)).toBe('expired');
  });

  it('is valid where the clock is at most a minute behind', async () => {
    const { tokens, clock, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    clock.jump(-60_000);
    expect(await reasonOf(text)).toBe('valid');
    clock.jump(-1);
    expect(await reasonOf(text)).toBe('not-yet-valid');
  });

  it('ends when it is revoked, also if it was used before', async () => {
    const { tokens, revocations, reasonOf } = await startTokens();
    const [one, other] = await Promise.all([tokens.mint(request), tokens.mint(request)]);
    expect(await reasonOf(one.text)).toBe('valid');
    await revocations.revokeToken(one.id, one.expiresAt);
    expect(await reasonOf(one.text)).toBe('revoked');
    expect(await reasonOf(other.text)).toBe('valid');
  });

  it('ends with all others of its person, and the next one is valid at once', async () => {
    const { tokens, revocations, reasonOf } = await startTokens();
    const before = await tokens.mint(request);
    const ofOthers = await tokens.mint({ ...request, person: { ...person, subject: '4712' } });
    await revocations.revokePerson(person);
    const after = await tokens.mint(request);
    const again = await Promise.all([before, ofOthers, after].map(({ text }) => reasonOf(text)));
    expect(again).toEqual(['revoked', 'valid', 'valid']);
    await revocations.revokePerson(person);
    await revocations.revokePerson(person);
    expect(await reasonOf((await tokens.mint(request)).text)).toBe('valid');
  });

  it('ends with all others of its person also if the clock was set back since it was made', async () => {
    const { tokens, revocations, clock, reasonOf } = await startTokens();
    clock.jump(120_000);
    const ahead = await tokens.mint(request);
    clock.jump(-120_000);
    await revocations.revokePerson(person);
    const next = await tokens.mint(request);
    clock.jump(-60_000);
    await revocations.revokePerson(person);
    const last = await tokens.mint(request);
    clock.advance(240_000);
    expect(await Promise.all([ahead, next, last].map(({ text }) => reasonOf(text)))).toEqual(['revoked', 'revoked', 'valid']);
  });

  it('ends with the second rotation of keys', async () => {
    const first = newKeys();
    const second = newKeys(first.text);
    const before = await startTokens(first.keys);
    const { text } = await before.tokens.mint(request);
    const verifyWith = async (keys: Keys): Promise<RefusalReason | 'valid'> => {
      const tokens = new Tokens({ keys, revocations: before.revocations, now: () => before.clock.now() });
      const verification = await tokens.verify(text);
      return verification.ok ? 'valid' : verification.reason;
    };
    expect(await verifyWith(second.keys)).toBe('valid');
    expect(await verifyWith(newKeys(second.text).keys)).toBe('unknown-key');
  });

  it('ends with its generation', async () => {
    const { clock, keys, tokens } = await startTokens();
    const { text } = await tokens.mint(request);
    const revocations = {
      state: { ready: true, generation: 'another' },
      isRevoked: () => false,
      revokedBefore: () => 0,
    } as const;
    const after = new Tokens({ keys, revocations, now: () => clock.now() });
    expect(await after.verify(text)).toMatchObject({ reason: 'another-generation' });
  });

  it('is refused, and none is made, while it is not known what is revoked', async () => {
    const { clock, keys, tokens } = await startTokens();
    const { text } = await tokens.mint(request);
    const state = { ready: false, message: 'the file is damaged; delete it' } as const;
    const revocations = { state, isRevoked: () => false, revokedBefore: () => 0 };
    const unready = new Tokens({ keys, revocations, now: () => clock.now() });
    expect(await unready.verify(text)).toMatchObject({ ok: false, reason: 'not-ready', message: state.message });
    await expect(unready.mint(request)).rejects.toMatchObject({ code: 'access.unavailable', message: state.message });
  });

  it('is refused, and none is made, while there are no keys', async () => {
    const { clock, revocations, tokens } = await startTokens();
    const { text } = await tokens.mint(request);
    const without = new Tokens({ keys: { fault: 'keys.json is damaged' }, revocations, now: () => clock.now() });
    expect(await without.verify(text)).toEqual({ ok: false, reason: 'not-ready', message: 'keys.json is damaged' });
    await expect(without.mint(request)).rejects.toMatchObject({ message: 'keys.json is damaged' });
  });
});

describe('a forged token', () => {
  it.each<readonly [object, RefusalReason]>([
    [{ aud: 'other' }, 'wrong-audience'],
    [{ aud: ['eph'] }, 'wrong-audience'],
    [{ aud: undefined }, 'malformed'],
    [{ exp: 9_999_999_999 }, 'malformed'],
    [{ exp: undefined }, 'malformed'],
    [{ exp: '9999999999' }, 'malformed'],
    [{ exp: 1 }, 'expired'],
    [{ iat: 1_767_700_000, exp: 1_767_800_000 }, 'not-yet-valid'],
    [{ iat: null }, 'malformed'],
    [{ after: -1 }, 'malformed'],
    [{ after: undefined }, 'malformed'],
    [{ gen: 'guessed' }, 'another-generation'],
    [{ gen: undefined }, 'malformed'],
    [{ jti: undefined }, 'malformed'],
    [{ jti: '../../etc/passwd' }, 'malformed'],
    [{ scope: 'root' }, 'malformed'],
    [{ scope: ['admin'] }, 'malformed'],
    [{ sub: 'somebody' }, 'malformed'],
    [{ projects: 'all' }, 'malformed'],
    [{ projects: [] }, 'malformed'],
    [{ groups: ['admins'] }, 'malformed'],
  ])('with the key of the server and %j is refused', async (changes, reason) => {
    const { forge, reasonOf } = await startTokens();
    expect(await reasonOf(await forge(changes))).toBe(reason);
  });

  it('is one that was changed', async () => {
    const { tokens, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const [header, claims = '', signature] = text.split('.');
    const changed = Buffer.from(claims, 'base64url').toString().replace('"read"', '"admin"');
    expect(changed).toContain('admin');
    expect(await reasonOf([header, Buffer.from(changed).toString('base64url'), signature].join('.'))).toBe('bad-signature');
  });

  it('has no algorithm, or another one', async () => {
    const { tokens, keys, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const { id } = keys.signing;
    for (const alg of ['none', 'None', 'HS256', 'ES256', 'RS256', 'EdDSA', '', 'Ed448'])
      expect(await reasonOf(withHeader(text, { alg, typ: 'eph+jwt', kid: id }))).toBe('malformed');
    expect(await reasonOf(`eph_${Buffer.from('{"alg":"none"}').toString('base64url')}.${text.split('.')[1]}.`)).toBe('malformed');
  });

  it('is signed with the public key as a password', async () => {
    const { tokens, keys, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const publicKey = createPublicKey(keys.signing.key);
    const payload = Buffer.from(text.split('.')[1] ?? '', 'base64url');
    const forms = [publicKey.export({ type: 'spki', format: 'pem' }), publicKey.export({ type: 'spki', format: 'der' })];
    for (const secret of forms.map((form) => Buffer.from(form))) {
      const signed = await new CompactSign(payload)
        .setProtectedHeader({ alg: 'HS256', typ: 'eph+jwt', kid: keys.signing.id })
        .sign(secret);
      // Of the same length as a real one, so that it is not refused for that.
      expect(await reasonOf(`eph_${signed}`.padEnd(text.length, 'A'))).toBe('malformed');
      const [, claims, signature = ''] = signed.split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'Ed25519', typ: 'eph+jwt', kid: keys.signing.id })).toString('base64url');
      expect(await reasonOf(`eph_${header}.${claims}.${signature.padEnd(86, 'A')}`)).toBe('bad-signature');
    }
  });

  it('is signed with another kind of key, or another key under the id of ours', async () => {
    const { tokens, keys, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const payload = Buffer.from(text.split('.')[1] ?? '', 'base64url');
    const sign = async (header: CompactJWSHeaderParameters, key: Parameters<CompactSign['sign']>[0]): Promise<string> =>
      `eph_${await new CompactSign(payload).setProtectedHeader(header).sign(key)}`;
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kid = keys.signing.id;
    expect(await reasonOf(await sign({ alg: 'ES256', typ: 'eph+jwt', kid }, privateKey))).toBe('malformed');
    const other = generateKeyPairSync('ed25519').privateKey;
    expect(await reasonOf(await sign({ alg: 'Ed25519', typ: 'eph+jwt', kid }, other))).toBe('bad-signature');
  });

  it.each(['', 'unknown', '../../../../dev/null', '/etc/passwd', "' or 1=1 --", '__proto__', 'constructor', '\u0000'])(
    'has the key id %j',
    async (kid) => {
      const { forge, reasonOf } = await startTokens();
      expect(await reasonOf(await forge({}, { kid }))).toBe('unknown-key');
    },
  );

  it('brings its own key, or says where to get it', async () => {
    const { forge, reasonOf, tokens } = await startTokens();
    const { text } = await tokens.mint(request);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const jwk = await exportJWK(publicKey);
    const own = await new CompactSign(Buffer.from(text.split('.')[1] ?? '', 'base64url'))
      .setProtectedHeader({ alg: 'Ed25519', typ: 'eph+jwt', kid: 'own', jwk })
      .sign(privateKey);
    expect(await reasonOf(`eph_${own}`)).toBe('malformed');
    for (const more of [
      { jwk },
      { jku: 'http://127.0.0.1:1/keys' },
      { x5u: 'http://127.0.0.1:1/cert' },
      { x5c: ['AAAA'] },
      { typ: 'JWT' },
      { cty: 'JWT' },
    ])
      expect(await reasonOf(await forge({}, more))).toBe('malformed');
  });

  it('is no token at all', async () => {
    const { tokens, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const bare = text.slice('eph_'.length);
    const texts = ['', 'eph_', bare, `EPH_${bare}`, ` ${text}`, `${text} `, `${text}\n`, `${text}.x`, `eph_${'a.'.repeat(9)}`];
    for (const one of [...texts, `eph_eph_${bare}`, 'x'.repeat(10_000_000), `${text.slice(0, -86)}${'é'.repeat(86)}`])
      expect(await reasonOf(one)).toBe('malformed');
    const long = `eph_${'a'.repeat(5_000)}.${'b'.repeat(5_000)}.${'c'.repeat(86)}`;
    expect(await reasonOf(long)).toBe('malformed');
  });

  it('is a part of one, wherever it ends', async () => {
    const { tokens, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    const reasons = await Promise.all(Array.from(text, (_, length) => reasonOf(text.slice(0, length))));
    expect(new Set(reasons)).toEqual(new Set(['malformed']));
  });

  it('is one with any other character', async () => {
    const { tokens, reasonOf } = await startTokens();
    const { text } = await tokens.mint(request);
    // The last character has bits that belong to no byte.
    const places = fc.integer({ min: 0, max: text.length - 2 });
    await fc.assert(
      fc.asyncProperty(places, fc.constantFrom('a', 'Z', '0', '-', '_', '.', '=', '+', '/', ' ', 'é'), async (at, character) => {
        fc.pre(text[at] !== character);
        expect(await reasonOf(text.slice(0, at) + character + text.slice(at + 1))).not.toBe('valid');
      }),
      { numRuns: 500 },
    );
  });

  it('may be anything, and throws nothing', async () => {
    const { tokens } = await startTokens();
    const part = fc.oneof(
      fc.string(),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
    );
    await fc.assert(
      fc.asyncProperty(part, part, fc.uint8Array({ minLength: 64, maxLength: 64 }), async (header, claims, signature) => {
        const text = `eph_${header}.${claims}.${Buffer.from(signature).toString('base64url')}`;
        expect(await tokens.verify(text)).toMatchObject({ ok: false, message: expect.stringMatching(/\w/) });
      }),
    );
  });
});

describe('the memory of verified signatures', () => {
  it('gives the same caller again, and holds for no other text', async () => {
    const { tokens, verified } = await startTokens();
    const { text } = await tokens.mint(request);
    const first = await verified(text);
    expect(await verified(text)).toBe(first);
    expect(await tokens.verify(`${text.slice(0, -10)}${text.at(-10) === 'A' ? 'B' : 'A'}${text.slice(-9)}`)).toMatchObject({
      reason: 'bad-signature',
    });
  });

  it('is bounded, and forgets no revocation', async () => {
    const { tokens, revocations, verified, reasonOf } = await startTokens();
    const { text, id } = await tokens.mint(request);
    const first = await verified(text);
    for (let index = 0; index < 1_000; index += 1) await verified((await tokens.mint(request)).text);
    expect(await verified(text)).not.toBe(first);
    await revocations.revokeToken(id);
    expect(await reasonOf(text)).toBe('revoked');
  });
});
