import { projectId } from '@eph/contract';
import type { Caller } from '@eph/engine/access/caller';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { beforeEach, describe, expect, it } from 'vitest';
import { Sessions } from './sessions.ts';

const administrator: Caller = { kind: 'administrator' };
const ann: Caller = {
  kind: 'person',
  person: { issuer: 'https://id.example.com', subject: '1' },
  groups: [],
  repository: undefined,
  token: undefined,
};
const hour = 3_600_000;

let clock: ManualClock;
let sessions: Sessions;
beforeEach(() => {
  clock = new ManualClock();
  sessions = new Sessions(clock);
});

const create = (code: string) => sessions.create(code, () => undefined);

const createCode = (caller: Caller = administrator): string => sessions.createLink(caller, 'http://127.0.0.1:7070').code;

describe('a link', () => {
  it('has its code in the fragment', () => {
    const { code, url } = sessions.createLink(administrator, 'http://127.0.0.1:7070');
    expect(url).toBe(`http://127.0.0.1:7070/#code=${code}`);
    expect(Buffer.from(code, 'base64url')).toHaveLength(24);
  });

  it('counts once', () => {
    const code = createCode();
    expect(create(code).session.caller).toBe(administrator);
    expect(() => create(code)).toThrow(/used already/);
  });

  it('counts for nobody who may not be here any more', () => {
    const code = createCode(ann);
    const refuse = (caller: Caller): void => {
      throw new Error(caller.kind);
    };
    expect(() => sessions.create(code, refuse)).toThrow('person');
    expect(() => create(code)).toThrow(/used already/);
  });

  it('counts for ten minutes', () => {
    const [early, late] = [createCode(), createCode()];
    clock.advance(9 * 60_000);
    create(early);
    clock.advance(60_000);
    expect(() => create(late)).toThrow(/older than ten minutes/);
  });

  it('is worth nothing after so many others', () => {
    const first = createCode();
    for (let made = 0; made < 100; made += 1) createCode();
    expect(() => create(first)).toThrow(/used already/);
  });

  it('counts however many others make', () => {
    const first = createCode();
    for (let made = 0; made < 2_000; made += 1) createCode(ann);
    expect(create(first).session.caller).toBe(administrator);
  });
});

describe('a session', () => {
  it('is found by its token alone', () => {
    const { token, session } = create(createCode());
    expect(sessions.find(token)).toBe(session);
    for (const other of ['', 'ephs_', `${token}x`, token.slice(0, -1)]) expect(sessions.find(other)).toBeUndefined();
  });

  it('ends after twelve hours', () => {
    const { token, session } = create(createCode());
    clock.advance(12 * hour - 1);
    expect(sessions.find(token)).toBe(session);
    clock.advance(1);
    expect(sessions.find(token)).toBeUndefined();
    expect(session.signal.reason).toMatchObject({ code: 'api.unauthorized' });
  });

  it('ends with the token that made its link', () => {
    const caller: Caller = {
      ...ann,
      token: {
        id: 'x'.repeat(22),
        scope: 'read',
        projects: [projectId('shop')],
        generation: 'one',
        after: 0,
        issuedAt: clock.now(),
        expiresAt: clock.now() + hour,
      },
    };
    const { token, session } = create(createCode(caller));
    expect(session.expiresAt).toBe(clock.now() + hour);
    clock.advance(hour);
    expect(sessions.find(token)).toBeUndefined();
  });

  it('has ended where its time is over, though no timer has said so', () => {
    const { token, session } = create(createCode());
    clock.jump(12 * hour);
    expect(sessions.find(token)).toBeUndefined();
    expect(session.signal.aborted).toBe(true);
  });

  it('goes on however many others begin', () => {
    const { token, session } = create(createCode());
    for (let made = 0; made < 2_000; made += 1) create(createCode(ann));
    expect(sessions.find(token)).toBe(session);
  });

  it('ends when somebody ends it, when too many follow, and with ephd', () => {
    const all = Array.from({ length: 3 }, () => create(createCode()));
    const [ended, oldest, last] = all.map(({ session }) => session);
    ended?.[Symbol.dispose]();
    expect(all.map(({ token }) => sessions.find(token) !== undefined)).toEqual([false, true, true]);
    for (let made = 0; made < 99; made += 1) create(createCode());
    expect([oldest?.signal.aborted, last?.signal.aborted]).toEqual([true, false]);
    sessions[Symbol.dispose]();
    expect(last?.signal.aborted).toBe(true);
  });
});
