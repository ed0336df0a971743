import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PlacedRule, type ProjectId, projectId, type Route, routes, silentLog } from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAccess } from '../access/access.ts';
import { Sessions } from '../access/sessions.ts';
import type { Caller } from './handlers.ts';
import { LongUse, LongUses } from './long-use.ts';

const [shop, bank] = [projectId('shop'), projectId('bank')];
const ann = { issuer: 'https://id.example.com', subject: '7' };
const hour = 3_600_000;

const ruleFor = (role: PlacedRule['role'], projects?: readonly string[]): PlacedRule => ({
  who: [{ person: 'https://id.example.com#7' }],
  role,
  projects,
  labels: undefined,
  except: [],
  place: 'access.yaml:3',
});

/** Real tokens and rules, where time passes only when the clock says so. */
const start = async (...rules: readonly PlacedRule[]) => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-long-use-'));
  const clock = new ManualClock();
  const reader = {
    rules: { state: 'read' as const, document: rules, faults: [] },
    headFault: undefined,
    refresh: async () => {},
  };
  const access = await startAccess({
    dataFolder: folder,
    keys: undefined,
    rules: [],
    reader,
    database: undefined,
    labelsOf: () => [],
    clock,
    log: silentLog,
  });
  onTestFinished(async () => {
    await access[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  await access.revocations.refresh();
  const { id, text } = await access.tokens.mint({ person: ann, scope: 'admin', projects: undefined, lifetimeMs: hour });
  const verification = await access.tokens.verify(text);
  if (!verification.ok) throw new Error(verification.message);
  const identity = verification.caller;
  const may: Caller['may'] = (permission, project) => access.of(identity).may(permission, project);
  const closing = new AbortController();
  const uses = new LongUses();
  const begin = (route: Route, project: ProjectId | undefined, session?: Caller['session'], who = identity): LongUse => {
    const caller: Caller = { identity: who, how: 'token', session, may };
    const projects = new Map([shop, bank].map((one) => [one, one]));
    const use = new LongUse(route, caller, project, { access, projects, closing: closing.signal, uses });
    onTestFinished(() => use[Symbol.dispose]());
    expect(use.signal.aborted).toBe(false);
    return use;
  };
  const setRules = (...changed: readonly PlacedRule[]): void => {
    reader.rules = { ...reader.rules, document: changed };
  };
  return { clock, access, id, identity, closing, begin, setRules };
};

describe.each([
  ['exec', routes.exec],
  ['a log', routes.readLogs],
])('%s', (_, route) => {
  it('goes on while its caller may', async () => {
    const { clock, begin, setRules } = await start(ruleFor('developer'));
    const use = begin(route, shop);
    setRules(ruleFor('operator', ['shop']));
    clock.advance(hour - 1);
    expect(use.signal.aborted).toBe(false);
  });

  it('ends when the token expires', async () => {
    const { clock, begin } = await start(ruleFor('developer'));
    const use = begin(route, shop);
    clock.advance(hour);
    expect(use.signal.reason).toMatchObject({ code: 'api.unauthorized', message: expect.stringContaining('has expired') });
  });

  it('ends when the token is revoked, or all of its person', async () => {
    const { access, id, begin } = await start(ruleFor('developer'));
    const first = begin(route, shop);
    await access.revocations.revokeToken(id);
    expect(first.signal.reason).toMatchObject({ code: 'api.unauthorized', message: expect.stringContaining('was revoked') });
    const other = await start(ruleFor('developer'));
    const second = other.begin(route, shop);
    await other.access.revocations.revokePerson(ann);
    expect(second.signal.reason).toMatchObject({ code: 'api.unauthorized' });
  });

  it.each([
    ['the role', [ruleFor('viewer')]],
    ['the project', [ruleFor('developer', ['bank'])]],
    ['every rule', []],
    ['all by a rule that denies', [ruleFor('developer'), ruleFor(undefined, ['shop'])]],
  ])('ends when its caller loses %s', async (_what, rules) => {
    const { clock, begin, setRules } = await start(ruleFor('developer'));
    const use = begin(route, shop);
    setRules(...rules);
    clock.advance(2_000);
    expect(use.signal.reason).toMatchObject({ code: 'api.forbidden', message: expect.stringContaining('in project shop') });
  });

  it('ends with the session, with ephd, and with its client', async () => {
    const { clock, closing, identity, begin } = await start(ruleFor('developer'));
    const sessions = new Sessions(clock);
    const { session } = sessions.create(sessions.createLink(identity, 'http://localhost').code, () => undefined);
    const uses = [begin(route, shop, session), begin(route, shop), begin(route, shop)] as const;
    session[Symbol.dispose]();
    uses[1].clientHasGone();
    expect(uses.map(({ signal, isClientGone }) => [signal.aborted, isClientGone])).toEqual([
      [true, false],
      [true, true],
      [false, false],
    ]);
    closing.abort();
    expect(uses[2].signal.aborted).toBe(true);
  });
});

it.each([
  ['streams', routes.readLogs, 200],
  ['commands', routes.exec, 20],
])('of %s, a token has so many at a time', async (what, route, most) => {
  const { identity, access, begin } = await start(ruleFor('developer'));
  const all = Array.from({ length: most }, () => begin(route, shop));
  const message = `${most} ${what} with this token are open already`;
  const code = 'api.too_many';
  expect(() => begin(route, shop)).toThrow(expect.objectContaining({ code, message }));
  // The others are counted apart, and so are those of another token.
  begin(route === routes.exec ? routes.followChanges : routes.exec, shop);
  const other = await access.tokens.mint({ person: ann, scope: 'write', projects: undefined, lifetimeMs: hour });
  begin(route, shop, undefined, { ...identity, token: { ...identity.token, id: other.id } });
  // What ends twice counts once.
  for (let time = 0; time < 2; time += 1) all[0]?.[Symbol.dispose]();
  begin(route, shop);
  expect(() => begin(route, shop)).toThrow(expect.objectContaining({ code, message }));
});

describe('a stream of many projects', () => {
  it('goes on while its caller may see one of them, and ends with the last', async () => {
    const { clock, begin, setRules } = await start(ruleFor('viewer'));
    const use = begin(routes.followChanges, undefined);
    setRules(ruleFor('viewer', ['bank']));
    clock.advance(2_000);
    expect(use.signal.aborted).toBe(false);
    setRules();
    clock.advance(2_000);
    expect(use.signal.reason).toMatchObject({ code: 'api.forbidden' });
  });

  it('ends with the one that it was narrowed to', async () => {
    const { clock, begin, setRules } = await start(ruleFor('viewer'));
    const use = begin(routes.followChanges, undefined);
    use.narrowTo(shop);
    setRules(ruleFor('viewer', ['bank']));
    clock.advance(2_000);
    expect(use.signal.reason).toMatchObject({ code: 'api.forbidden' });
  });
});
