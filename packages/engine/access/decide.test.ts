import {
  type AccessRule,
  type Permission,
  type PlacedRule,
  type ProjectId,
  permissions,
  projectId,
  type Role,
  roles,
  type Scope,
  scopes,
} from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Caller, SignedIn, Token } from './caller.ts';
import { CallerAccess, decide, type LabelsOf, type RuleSet } from './decide.ts';

const shop = projectId('shop');
const bank = projectId('bank');
const gone = projectId('gone');
const labels: ReadonlyMap<ProjectId, readonly string[]> = new Map([
  [shop, ['web']],
  [bank, ['web', 'payments']],
]);
const labelsOf: LabelsOf = (project) => labels.get(project);

const ann: SignedIn = {
  kind: 'person',
  person: { issuer: 'https://id.example.com', subject: '7' },
  groups: ['team'],
  repository: undefined,
  token: undefined,
};
const annText = 'https://id.example.com#7';

const tokenOf = (limits: Partial<Token>): Token => ({
  id: 'id',
  scope: 'admin',
  projects: undefined,
  generation: 'g',
  after: 0,
  issuedAt: 0,
  expiresAt: 1,
  ...limits,
});

const withToken = (limits: Partial<Token>): SignedIn => ({ ...ann, token: tokenOf(limits) });

let line = 0;
const rule = (given: Partial<AccessRule>): PlacedRule => {
  line += 1;
  const plain = { who: [{ person: annText }], role: undefined, projects: undefined, labels: undefined, except: [] };
  return { ...plain, ...given, place: `ephd.yaml:${line}` };
};

const setOf = (...rules: readonly PlacedRule[]): RuleSet => ({ rules, unknown: undefined });

const may = (caller: Caller, rules: RuleSet, permission: Permission, project?: ProjectId): boolean =>
  decide(caller, rules, labelsOf, permission, project).allowed;

/** What somebody may do in a project, as the highest role that explains it. */
const roleIn = (caller: Caller, rules: RuleSet, project?: ProjectId): Role | 'none' => {
  const probes = { viewer: 'environments.read', developer: 'logs.read', operator: 'held.read', admin: 'rules.read' } as const;
  return roles.findLast((role) => may(caller, rules, probes[role], project)) ?? 'none';
};

describe('rules', () => {
  it('give nothing unless one does, and everybody who is signed in the rest', () => {
    const rules = setOf();
    const allowed = Object.keys(permissions).filter((one) => may(ann, rules, one as Permission, shop));
    expect(allowed).toEqual(['account.read']);
  });

  it.each<readonly [Partial<AccessRule>, SignedIn, boolean]>([
    [{ who: [{ person: annText }] }, ann, true],
    [{ who: [{ person: 'https://id.example.com#8' }] }, ann, false],
    [{ who: [{ person: 'https://other.example.com#7' }] }, ann, false],
    [{ who: [{ group: 'team' }] }, ann, true],
    [{ who: [{ group: 'Team' }] }, ann, false],
    [{ who: [{ ci: 'acme/shop' }] }, ann, false],
    [{ who: [{ ci: 'acme/shop' }] }, { ...ann, repository: 'Acme/Shop' }, true],
    [{ who: [{ ci: 'acme/shop' }] }, { ...ann, repository: 'acme/shop-2' }, false],
    [{ who: [{ group: 'others' }, { person: annText }] }, ann, true],
    [{ who: [{ person: 'team' }] }, { ...ann, groups: [annText] }, false],
  ])('%j are about whom they name', (given, caller, expected) => {
    expect(may(caller, setOf(rule({ ...given, role: 'viewer' })), 'environments.read', shop)).toBe(expected);
  });

  it.each<readonly [Partial<AccessRule>, readonly ProjectId[]]>([
    [{}, [shop, bank, gone]],
    [{ projects: ['s*'] }, [shop]],
    [{ projects: ['bank', 'gone'] }, [bank, gone]],
    [{ labels: ['payments'] }, [bank]],
    [{ labels: ['web', 'other'] }, [shop, bank]],
    [{ labels: ['web'], projects: ['shop'] }, [shop]],
    // Whether this one had the label is not known any more.
    [{ except: ['payments'] }, [shop]],
    [{ labels: ['web'], except: ['payments'] }, [shop]],
  ])('%j are for the projects they name', (given, expected) => {
    const rules = setOf(rule({ ...given, role: 'viewer' }));
    expect([shop, bank, gone].filter((project) => may(ann, rules, 'environments.read', project))).toEqual(expected);
  });

  it.each<readonly [Partial<AccessRule>, readonly ProjectId[]]>([
    [{}, []],
    [{ projects: ['shop', '*'] }, []],
    [{ projects: ['shop'] }, [bank, gone]],
    // It may have had the label, so it stays denied.
    [{ labels: ['payments'] }, [shop]],
    [{ except: ['payments'] }, [bank]],
  ])('that deny %j win over the role admin', (given, expected) => {
    const rules = setOf(rule({ role: 'admin' }), rule({ ...given, role: undefined }));
    expect([shop, bank, gone].filter((project) => may(ann, rules, 'environments.read', project))).toEqual(expected);
    expect(may(ann, rules, 'tokens.manage')).toBe(expected.length > 0);
  });

  it.each(roles)('give the role %s, with those before it', (role) => {
    expect(roleIn(ann, setOf(rule({ role })), shop)).toBe(role);
  });

  it('give the highest of several roles', () => {
    const rules = [rule({ role: 'viewer' }), rule({ role: 'operator', projects: ['shop'] }), rule({ role: 'developer' })];
    expect([shop, bank].map((project) => roleIn(ann, setOf(...rules), project))).toEqual(['operator', 'developer']);
    expect(roleIn(ann, setOf(...rules.toReversed()), shop)).toBe('operator');
  });

  it('give nothing on the server but the role admin', () => {
    expect(roleIn(ann, setOf(rule({ role: 'operator' })))).toBe('none');
    expect(roleIn(ann, setOf(rule({ role: 'admin' })))).toBe('admin');
  });

  it('that are not all known allow nothing', () => {
    const rules = { rules: [rule({ role: 'admin' })], unknown: 'access.yaml could not be read' };
    expect(decide(ann, rules, labelsOf, 'account.read')).toEqual({
      allowed: false,
      because: 'not all rules are known: access.yaml could not be read',
    });
    expect(may({ kind: 'administrator' }, rules, 'tokens.manage')).toBe(true);
  });
});

describe('a token', () => {
  const rules = setOf(rule({ role: 'admin' }));

  it.each<readonly [Scope, Role | 'none']>([
    ['wake', 'none'],
    ['read', 'operator'],
    ['write', 'operator'],
    ['admin', 'admin'],
  ])('with the scope %s reads like the role %s', (scope, role) => {
    expect(roleIn(withToken({ scope }), rules, shop)).toBe(role);
  });

  it('that can only wake does nothing else', () => {
    const all = Object.keys(permissions) as Permission[];
    expect(all.filter((one) => may(withToken({ scope: 'wake' }), rules, one, shop))).toEqual(['hooks.wake']);
    expect(may(withToken({ scope: 'read' }), rules, 'hooks.wake', shop)).toBe(false);
    expect(may(withToken({ scope: 'write' }), rules, 'hooks.wake', shop)).toBe(true);
  });

  it('for some projects is good for these, and for nothing on the server but the own account', () => {
    const caller = withToken({ projects: ['sh*'] });
    expect([shop, bank].map((project) => may(caller, rules, 'environments.read', project))).toEqual([true, false]);
    expect([shop, bank].map((project) => may(caller, rules, 'hooks.wake', project))).toEqual([true, false]);
    expect(may(caller, rules, 'account.read')).toBe(true);
    expect(may(caller, rules, 'tokens.manage')).toBe(false);
  });
});

describe('a permission in any project', () => {
  const any = (caller: Caller, rules: RuleSet, projects: readonly ProjectId[]) =>
    new CallerAccess(caller, rules, labelsOf).decideAny('server.read', projects);

  it('needs one project, or the role admin', () => {
    const rules = setOf(rule({ role: 'viewer', projects: ['bank'] }));
    expect(any(ann, rules, [shop, bank])).toMatchObject({ allowed: true, because: expect.stringContaining('in project bank') });
    expect(any(ann, rules, [shop])).toEqual({
      allowed: false,
      because: 'there is no project with the role viewer for this caller',
    });
    expect(any(ann, setOf(rule({ role: 'admin' })), []).allowed).toBe(true);
    expect(any({ kind: 'administrator' }, setOf(), []).allowed).toBe(true);
  });

  it('is limited by the token', () => {
    const rules = setOf(rule({ role: 'viewer', projects: ['bank'] }));
    expect(any(withToken({ projects: ['shop'] }), rules, [shop, bank]).allowed).toBe(false);
    expect(any(withToken({ scope: 'wake' }), rules, [shop, bank]).because).toContain('the scope wake');
  });
});

describe('a permission in all projects', () => {
  const all = (caller: Caller, rules: RuleSet, projects: readonly ProjectId[] = [shop, bank]) =>
    new CallerAccess(caller, rules, labelsOf).decideAll('server.read', projects);

  it('needs each of them, and does not name one that is missing', () => {
    expect(all(ann, setOf(rule({ role: 'viewer', projects: ['bank'] })))).toEqual({
      allowed: false,
      because: 'this is about all projects together and needs the role viewer in each of them',
    });
    expect(all(ann, setOf(rule({ role: 'viewer' }))).allowed).toBe(true);
    expect(all(ann, setOf(rule({ role: 'viewer' }), rule({ labels: ['payments'] }))).allowed).toBe(false);
    expect(all({ kind: 'administrator' }, setOf()).allowed).toBe(true);
  });

  it('needs the role admin where there are none', () => {
    expect(all(ann, setOf(rule({ role: 'viewer' })), []).allowed).toBe(false);
    expect(all(ann, setOf(rule({ role: 'admin' })), []).allowed).toBe(true);
  });

  it('is limited by the token', () => {
    const rules = setOf(rule({ role: 'admin' }));
    expect(all(withToken({ projects: ['shop'] }), rules).allowed).toBe(false);
    expect(all(withToken({ scope: 'wake' }), rules).because).toContain('the scope wake');
  });
});

describe('a decision', () => {
  const first = rule({ role: 'viewer' });
  const denial = rule({ projects: ['bank'] });
  const rules = setOf(first, denial);

  it.each<readonly [Caller, Permission, ProjectId | undefined, string]>([
    [{ kind: 'administrator' }, 'tokens.manage', undefined, 'the caller can read the token file of ephd'],
    [ann, 'account.read', undefined, 'everybody who is signed in may do this'],
    [ann, 'environments.read', shop, `${first.place} gives the role viewer in project shop`],
    [ann, 'logs.read', shop, `${first.place} gives the role viewer in project shop, and this needs developer`],
    [ann, 'logs.read', bank, `${denial.place} denies everything in project bank`],
    [ann, 'audit.read', undefined, 'no rule gives a role on the server, and this needs admin'],
    [withToken({ scope: 'read' }), 'environments.change', shop, 'the token has the scope read, and this needs write'],
    [withToken({ projects: ['a', 'b'] }), 'logs.read', shop, 'the token is limited to the projects a, b'],
  ])('of %j about %s has its reason', (caller, permission, project, because) => {
    expect(decide(caller, rules, labelsOf, permission, project).because).toBe(because);
  });
});

describe('decisions for a list', () => {
  it('compare the rules once with each project', () => {
    let compared = 0;
    const counted: PlacedRule = {
      ...rule({ role: 'viewer' }),
      get projects() {
        compared += 1;
        return ['shop'];
      },
    };
    const access = new CallerAccess(ann, setOf(counted), labelsOf);
    const before = compared;
    const seen = Array.from({ length: 10_000 }, (_, index) => (index % 2 === 0 ? shop : bank));
    expect(seen.filter((project) => access.may('environments.read', project))).toHaveLength(5_000);
    expect(compared - before).toBeLessThanOrEqual(4);
  });

  it('notice that a project joins or leaves', () => {
    const known = new Map(labels);
    const access = new CallerAccess(ann, setOf(rule({ role: 'viewer', except: ['payments'] })), (project) => known.get(project));
    expect(access.may('environments.read', shop)).toBe(true);
    known.delete(shop);
    expect(access.may('environments.read', shop)).toBe(false);
    known.set(shop, ['payments']);
    expect(access.may('environments.read', shop)).toBe(false);
    known.set(shop, []);
    expect(access.may('environments.read', shop)).toBe(true);
  });

  it('do not grow with projects that do not exist', () => {
    const access = new CallerAccess(ann, setOf(rule({ role: 'viewer', projects: ['shop'] })), labelsOf);
    const allowed = Array.from({ length: 25_000 }, (_, index) => access.may('environments.read', projectId(`p${index}`)));
    expect(allowed.includes(true)).toBe(false);
    expect(access.may('environments.read', shop)).toBe(true);
  });
});

describe('whatever the rules are', () => {
  const names = fc.constantFrom('shop', 'bank', 'gone', '*', 'b*', 'other');
  const labelNames = fc.constantFrom('web', 'payments', 'none');
  const some = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 1, maxLength: 3 });
  const who = fc.oneof(
    fc.constantFrom(annText, 'https://id.example.com#8').map((person) => ({ person })),
    fc.constantFrom('team', 'others').map((group) => ({ group })),
    fc.constantFrom('acme/shop', 'acme/bank').map((ci) => ({ ci })),
  );
  const anyRule = fc
    .record({
      who: some(who),
      role: fc.option(fc.constantFrom(...roles), { nil: undefined }),
      projects: fc.option(some(names), { nil: undefined }),
      labels: fc.option(some(labelNames), { nil: undefined }),
      except: fc.array(labelNames, { maxLength: 2 }),
    })
    .map((given) => ({ ...given, place: 'ephd.yaml:1' }));
  const rules = fc.array(anyRule, { maxLength: 6 }).map((all): RuleSet => ({ rules: all, unknown: undefined }));
  const token = fc
    .record({ scope: fc.constantFrom(...scopes), projects: fc.option(some(names), { nil: undefined }) })
    .map(tokenOf);
  const owner = fc
    .record({
      groups: fc.subarray(['team', 'others']),
      repository: fc.option(fc.constantFrom('acme/shop', 'acme/bank'), { nil: undefined }),
    })
    .map((given): SignedIn => ({ ...ann, ...given }));
  const caller = fc.tuple(owner, fc.option(token, { nil: undefined })).map(([one, token]): SignedIn => ({ ...one, token }));
  const permission = fc.constantFrom(...(Object.keys(permissions) as Permission[]));
  const project = fc.constantFrom(shop, bank, gone, undefined);
  const check = <Ts extends [unknown, ...unknown[]]>(property: fc.IPropertyWithHooks<Ts>): void =>
    fc.assert(property, { numRuns: 2_000 });

  it('nobody gets a role from rules that only deny, or that are about others', () => {
    check(
      fc.property(caller, rules, permission, project, (one, given, what, where) => {
        fc.pre(permissions[what].role !== null);
        const idle = given.rules.map((each) => (each.role === undefined ? each : { ...each, who: [{ group: 'nobody' }] }));
        expect(may(one, setOf(...idle), what, where)).toBe(false);
      }),
    );
  });

  it('one that denies everything wins', () => {
    check(
      fc.property(caller, rules, permission, project, fc.nat(6), (one, given, what, where, at) => {
        const all = given.rules.toSpliced(at, 0, rule({ role: undefined }));
        expect(may(one, setOf(...all), what, where)).toBe(false);
      }),
    );
  });

  it('another rule that denies takes, and another one that gives does not', () => {
    check(
      fc.property(caller, rules, anyRule, permission, project, (one, given, more, what, where) => {
        const [before, after] = [given, setOf(...given.rules, more)].map((set) => may(one, set, what, where));
        const [less, greater] = more.role === undefined ? [after, before] : [before, after];
        expect(less === true && greater === false).toBe(false);
      }),
    );
  });

  it('the order of rules does not matter', () => {
    check(
      fc.property(caller, rules, permission, project, (one, given, what, where) => {
        expect(may(one, setOf(...given.rules.toReversed()), what, where)).toBe(may(one, given, what, where));
      }),
    );
  });

  it('a higher role allows no less', () => {
    check(
      fc.property(caller, rules, permission, project, fc.nat(5), (one, given, what, where, at) => {
        const raised = given.rules.map((each, index) => {
          const next = each.role === undefined ? undefined : (roles[roles.indexOf(each.role) + 1] ?? each.role);
          return index === at ? { ...each, role: next } : each;
        });
        expect(may(one, given, what, where) && !may(one, setOf(...raised), what, where)).toBe(false);
      }),
    );
  });

  it('a wider scope allows no less', () => {
    const wider: readonly (readonly [Scope, Scope])[] = [
      ['read', 'write'],
      ['wake', 'write'],
      ['write', 'admin'],
    ];
    check(
      fc.property(
        owner,
        token,
        fc.constantFrom(...wider),
        rules,
        permission,
        project,
        (one, limits, [low, high], given, what, where) => {
          const [narrow, wide] = [low, high].map((scope) => may({ ...one, token: { ...limits, scope } }, given, what, where));
          expect(narrow === true && wide === false).toBe(false);
        },
      ),
    );
  });

  it('a token allows no more than its owner may do, and one for fewer projects no more than one for all', () => {
    check(
      fc.property(owner, token, rules, permission, project, (one, limits, given, what, where) => {
        const limited = may({ ...one, token: limits }, given, what, where);
        const unlimited = may({ ...one, token: { ...limits, projects: undefined } }, given, what, where);
        expect(limited && !unlimited).toBe(false);
        expect(unlimited && !may(one, given, what, where)).toBe(false);
      }),
    );
  });

  it('the reason of a decision fits it, and asking twice changes nothing', () => {
    check(
      fc.property(caller, rules, permission, project, (one, given, what, where) => {
        const access = new CallerAccess(one, given, labelsOf);
        const decision = access.decide(what, where);
        expect(access.may(what, where)).toBe(decision.allowed);
        expect(access.decide(what, where)).toEqual(decision);
        expect(decision.because).toMatch(decision.allowed ? /gives the role|signed in/ : /token|denies|needs/);
      }),
    );
  });
});
