import { randomBytes } from 'node:crypto';
import { routes, silentLog, type TokenList } from '@eph/contract';
import { FakeRevocationStore } from '@eph/engine/access/revocation-store.fake';
import { Revocations } from '@eph/engine/access/revocations';
import { createAuditEvent } from '@eph/engine/history/audit-event';
import { FakeEventLog } from '@eph/engine/history/event-log.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Keys, parseKeys } from './keys.ts';
import { describeMade, listMade } from './made-tokens.ts';
import { type TokenRequest, Tokens } from './tokens.ts';

const hour = 60 * 60_000;
const ann = { issuer: 'https://id.example.com', subject: '7' };
const bob = { issuer: 'https://id.example.com', subject: '8' };

const newKeys = (): Keys => {
  const keys = parseKeys(randomBytes(32).toString('base64'));
  if (keys === undefined) throw new Error('no keys');
  return keys;
};

const start = async () => {
  const clock = new ManualClock();
  const file = new FakeRevocationStore('file', () => clock.now());
  const events = new FakeEventLog();
  const open = async (keys: Keys) => {
    const createGeneration = () => randomBytes(16).toString('base64url');
    const revocations = new Revocations({ file, database: undefined, clock, createGeneration, log: silentLog });
    onTestFinished(() => revocations[Symbol.asyncDispose]());
    await revocations.refresh();
    return { revocations, tokens: new Tokens({ keys, revocations, now: () => clock.now() }) };
  };
  /** Makes a token and records it, by a history whose clock is not that of the tokens. */
  const make = async (tokens: Tokens, person = ann, lifetimeMs = hour): Promise<{ id: string; text: string }> => {
    const request: TokenRequest = { person, scope: 'read', projects: ['shop', 'web-*'], lifetimeMs };
    const minted = await tokens.mint(request);
    const event = createAuditEvent({
      at: new Date(clock.now() + 5_000).toISOString(),
      what: 'change',
      person: null,
      how: 'file',
      tokenId: null,
      permission: 'tokens.manage',
      method: 'POST',
      route: routes.createToken.path,
      project: null,
      environment: null,
      name: null,
      outcome: 'done',
      reason: null,
      requestId: 'r',
      address: '127.0.0.1',
    });
    events.append({ ...event, details: { ...event.details, ...describeMade(minted, request) } });
    return minted;
  };
  const list = (tokens: Tokens, after?: string, limit = 100, person?: string): Promise<TokenList> =>
    listMade(tokens, events, { person, after, limit });
  const statesOf = async (tokens: Tokens): Promise<Readonly<Record<string, string>>> =>
    Object.fromEntries((await list(tokens)).tokens.map(({ id, state }) => [id, state]));
  return { clock, file, events, open, make, list, statesOf };
};

describe('tokens that were made', () => {
  it('are listed with what they are good for', async () => {
    const { clock, open, make, list } = await start();
    const { tokens } = await open(newKeys());
    const { id } = await make(tokens);
    expect(await list(tokens)).toEqual({
      tokens: [
        {
          id,
          person: 'https://id.example.com#7',
          scope: 'read',
          projects: ['shop', 'web-*'],
          createdAt: new Date(clock.now()).toISOString(),
          expiresAt: new Date(clock.now() + hour).toISOString(),
          state: 'valid',
        },
      ],
      next: null,
    });
  });

  it('are listed of one person, a page at a time, however many others there are', async () => {
    const { open, make, list } = await start();
    const { tokens } = await open(newKeys());
    const made: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      for (let other = 0; other < 400; other += 1) await make(tokens, bob);
      made.unshift((await make(tokens)).id);
    }
    const first = await list(tokens, undefined, 2, 'https://id.example.com#7');
    expect(first.tokens.map(({ id }) => id)).toEqual(made.slice(0, 2));
    const second = await list(tokens, first.next ?? '', 2, 'https://id.example.com#7');
    expect(second).toMatchObject({ tokens: [{ id: made[2] }], next: null });
    expect(await list(tokens, undefined, 2, 'https://id.example.com#9')).toEqual({ tokens: [], next: null });
  });

  it('have the state that a request with them would find', async () => {
    const { clock, open, make, statesOf } = await start();
    const { tokens, revocations } = await open(newKeys());
    const short = await make(tokens, bob, 1_000);
    const before = await make(tokens);
    const one = await make(tokens, bob);
    await revocations.revokePerson(ann);
    await revocations.revokeToken(one.id);
    const after = await make(tokens);
    clock.advance(1_000);
    expect(await statesOf(tokens)).toEqual({
      [short.id]: 'expired',
      [before.id]: 'revoked',
      [one.id]: 'revoked',
      [after.id]: 'valid',
    });
    for (const [{ text }, isValid] of [
      [short, false],
      [before, false],
      [one, false],
      [after, true],
    ] as const)
      expect((await tokens.verify(text)).ok).toBe(isValid);
  });

  it('have ended where their key or their generation is not used any more', async () => {
    const { file, open, make, statesOf } = await start();
    const keys = newKeys();
    const { id } = await make((await open(keys)).tokens);
    expect(await statesOf((await open(newKeys())).tokens)).toEqual({ [id]: 'ended' });
    file.lose();
    expect(await statesOf((await open(keys)).tokens)).toEqual({ [id]: 'ended' });
  });

  it('are in an unknown state while it is not known what is revoked', async () => {
    const { file, open, make, statesOf } = await start();
    const keys = newKeys();
    const { id } = await make((await open(keys)).tokens);
    file.fault = 'is damaged';
    expect(await statesOf((await open(keys)).tokens)).toEqual({ [id]: 'unknown' });
  });

  it('come in pages, none of them twice and none left out', async () => {
    const { open, make, list } = await start();
    const { tokens } = await open(newKeys());
    const made: string[] = [];
    for (let index = 0; index < 5; index += 1) made.unshift((await make(tokens)).id);
    const listed: string[] = [];
    let after: string | null = null;
    do {
      const page: TokenList = await list(tokens, after ?? undefined, 2);
      listed.push(...page.tokens.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(listed).toEqual(made);
  });
});
