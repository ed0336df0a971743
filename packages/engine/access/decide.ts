import {
  findGlob,
  type Permission,
  type PlacedRule,
  type ProjectId,
  permissions,
  printPerson,
  type Role,
  roleIncludes,
  scopeIncludes,
} from '@eph/contract';
import type { Caller, SignedIn } from './caller.ts';

export interface RuleSet {
  readonly rules: readonly PlacedRule[];
  /** Why some rules are not known. They may be those that deny, so until then nobody but an administrator may do anything. */
  readonly unknown: string | undefined;
}

/** The labels of a project; undefined for one that is not configured any more, whose environments may still exist. */
export type LabelsOf = (project: ProjectId) => readonly string[] | undefined;

export interface Decision {
  readonly allowed: boolean;
  /** A sentence that names the rule with its file and line. */
  readonly because: string;
}

/** What somebody may do in one project, or on the server, whatever they ask for. */
interface Standing {
  readonly where: string;
  readonly role: Role | undefined;
  readonly givenBy: PlacedRule | undefined;
  readonly deniedBy: PlacedRule | undefined;
  readonly isOfToken: boolean;
}

type Verdict = 'administrator' | 'open' | 'granted' | 'unknown' | 'scope' | 'projects' | 'denied' | 'role';

const allowing: ReadonlySet<Verdict> = new Set(['administrator', 'open', 'granted']);

/** Projects are known by their configuration; what callers ask for may be anything. */
const mostStandings = 10_000;

/** Decides once. For many decisions about one caller there is `CallerAccess`. */
export const decide = (
  caller: Caller,
  rules: RuleSet,
  labelsOf: LabelsOf,
  permission: Permission,
  project?: ProjectId,
): Decision => new CallerAccess(caller, rules, labelsOf).decide(permission, project);

/**
 * What one caller may do by a set of rules: nothing, unless a rule gives it. A rule that denies wins over all that give, and a
 * token never allows more than its owner may do. Without a project, the question is about the server, where only the role admin
 * counts. The rules are compared once with the caller, and once with each project.
 */
export class CallerAccess {
  readonly #caller: Caller;
  readonly #unknown: string | undefined;
  readonly #rules: readonly PlacedRule[];
  readonly #labelsOf: LabelsOf;
  readonly #server: Standing;
  readonly #projects = new Map<ProjectId, { readonly labels: readonly string[] | undefined; readonly standing: Standing }>();

  constructor(caller: Caller, { rules, unknown }: RuleSet, labelsOf: LabelsOf) {
    this.#caller = caller;
    this.#unknown = unknown;
    this.#rules = caller.kind === 'administrator' ? [] : rules.filter((rule) => isAbout(rule, caller));
    this.#labelsOf = labelsOf;
    this.#server = this.#compute('on the server', true, isForServer);
  }

  may(permission: Permission, project?: ProjectId): boolean {
    return allowing.has(this.#verdict(permission, this.#standing(project)));
  }

  decide(permission: Permission, project?: ProjectId): Decision {
    const standing = this.#standing(project);
    const verdict = this.#verdict(permission, standing);
    return { allowed: allowing.has(verdict), because: this.#explain(verdict, permission, standing) };
  }

  /** Whether the permission holds in at least one of these projects, or on the server. */
  decideAny(permission: Permission, projects: Iterable<ProjectId>): Decision {
    for (const project of projects) if (this.may(permission, project)) return this.decide(permission, project);
    const onServer = this.#verdict(permission, this.#server);
    const isSameEverywhere = allowing.has(onServer) || onServer === 'unknown' || onServer === 'scope';
    if (isSameEverywhere) return this.decide(permission);
    return {
      allowed: false,
      because: `there is no project with the role ${permissions[permission].role ?? 'viewer'} for this caller`,
    };
  }

  /** Whether the permission holds in every one of these projects; where there are none, on the server. */
  decideAll(permission: Permission, projects: Iterable<ProjectId>): Decision {
    const all = [...projects];
    const [first] = all;
    const onServer = this.#verdict(permission, this.#server);
    if (onServer === 'unknown' || onServer === 'scope') return this.decide(permission);
    if (all.every((project) => this.may(permission, project))) return this.decide(permission, first);
    const role = permissions[permission].role ?? 'viewer';
    // A sentence with the name of a project would say that it exists.
    return { allowed: false, because: `this is about all projects together and needs the role ${role} in each of them` };
  }

  #standing(project: ProjectId | undefined): Standing {
    if (project === undefined) return this.#server;
    const labels = this.#labelsOf(project);
    const known = this.#projects.get(project);
    // Settings of a project do not change while it is configured, so another list means that it left or joined.
    if (known !== undefined && known.labels === labels) return known.standing;
    const standing = this.#compute(`in project ${project}`, this.#isOfToken(project), (rule) => isFor(rule, project, labels));
    if (this.#projects.size >= mostStandings) this.#projects.clear();
    this.#projects.set(project, { labels, standing });
    return standing;
  }

  #isOfToken(project: ProjectId): boolean {
    const patterns = this.#caller.kind === 'person' ? this.#caller.token?.projects : undefined;
    return patterns === undefined || findGlob(project, patterns) !== undefined;
  }

  #compute(where: string, isOfToken: boolean, isForPlace: (rule: PlacedRule) => boolean): Standing {
    const rules = this.#rules.filter(isForPlace);
    let givenBy: PlacedRule | undefined;
    for (const rule of rules)
      if (rule.role !== undefined && (givenBy?.role === undefined || !roleIncludes(givenBy.role, rule.role))) givenBy = rule;
    const deniedBy = rules.find(({ role }) => role === undefined);
    return { where, role: givenBy?.role, givenBy, deniedBy, isOfToken };
  }

  #verdict(permission: Permission, standing: Standing): Verdict {
    const { role, scope } = permissions[permission];
    if (this.#caller.kind === 'administrator') return 'administrator';
    if (this.#unknown !== undefined) return 'unknown';
    const { token } = this.#caller;
    if (token !== undefined && !scopeIncludes(token.scope, scope)) return 'scope';
    // One for some projects could otherwise make one for all.
    const isLimited = standing === this.#server && role !== null && token?.projects !== undefined;
    if (isLimited || !standing.isOfToken) return 'projects';
    if (standing.deniedBy !== undefined) return 'denied';
    if (role === null) return 'open';
    return standing.role !== undefined && roleIncludes(standing.role, role) ? 'granted' : 'role';
  }

  #explain(verdict: Verdict, permission: Permission, { where, role, givenBy, deniedBy }: Standing): string {
    const token = this.#caller.kind === 'person' ? this.#caller.token : undefined;
    const given = givenBy === undefined ? `no rule gives a role ${where}` : `${givenBy.place} gives the role ${role} ${where}`;
    switch (verdict) {
      case 'administrator':
        return 'the caller can read the token file of ephd';
      case 'open':
        return 'everybody who is signed in may do this';
      case 'granted':
        return given;
      case 'unknown':
        return `not all rules are known: ${this.#unknown}`;
      case 'scope':
        return `the token has the scope ${token?.scope}, and this needs ${permissions[permission].scope}`;
      case 'projects':
        return `the token is limited to the projects ${token?.projects?.join(', ')}`;
      case 'denied':
        return `${deniedBy?.place} denies everything ${where}`;
      case 'role':
        return `${given}, and this needs ${permissions[permission].role}`;
    }
  }
}

const isAbout = ({ who }: PlacedRule, { person, groups, repository }: SignedIn): boolean =>
  who.some(
    (one) =>
      one.person === printPerson(person) ||
      (one.group !== undefined && groups.includes(one.group)) ||
      // Forges ignore case in the names of repositories.
      (one.ci !== undefined && one.ci.toLowerCase() === repository?.toLowerCase()),
  );

/** On the server, a denial counts only if it is for all projects. */
const isForServer = ({ role, projects, labels, except }: PlacedRule): boolean =>
  role === 'admin' || (role === undefined && areAll(projects) && labels === undefined && except.length === 0);

const areAll = (projects: readonly string[] | undefined): boolean =>
  projects === undefined || projects.some((pattern) => /^\*+$/.test(pattern));

const isFor = (rule: PlacedRule, project: ProjectId, labels: readonly string[] | undefined): boolean => {
  if (rule.role === 'admin') return true;
  if (rule.projects !== undefined && findGlob(project, rule.projects) === undefined) return false;
  // What is not known neither gives a role nor keeps a denial away.
  if (labels === undefined) return rule.role === undefined || (rule.labels === undefined && rule.except.length === 0);
  const isLabelled = rule.labels === undefined || rule.labels.some((label) => labels.includes(label));
  return isLabelled && !rule.except.some((label) => labels.includes(label));
};
