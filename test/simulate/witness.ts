import type {
  ComponentName,
  EnvironmentId,
  Identity,
  ObservedEnvironment,
  ProjectId,
  Reading,
  Source,
  SourceRef,
} from '@eph/contract';
import type { Scope } from '@eph/engine/provider/provider';
import type { Content } from './contents.ts';
import { type Survey, Surveys } from './surveys.ts';

export type Invariant =
  | 'nothing is destroyed whose source wants it'
  | 'nothing incomplete authorises a deletion'
  | 'deletions per pass are bounded'
  | 'a hold has a reason'
  | 'one run per key'
  | 'no effect twice at once'
  | 'an aborted run begins nothing'
  | 'what could not be read is left alone'
  | 'what is in use is not stopped'
  | 'an environment keeps its identity'
  | 'no two environments share a name'
  | 'no run throws'
  | 'the world converges'
  | 'an idle pass is cheap'
  | 'people are told';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** What is true, whatever anybody says about it. */
export interface Truth {
  sourceOf(project: ProjectId, ref: SourceRef): Source | undefined;
  contentOf(source: Source): Content;
  identityOf(id: EnvironmentId): Identity | undefined;
  identities(): Iterable<Identity>;
  /** A component of the environment that needs the version which is about to be stopped. */
  userOf(id: EnvironmentId, component: ComponentName, stopped: 'every version' | 'the version before'): ComponentName | undefined;
}

/** What one run of an environment has learned. Its signal is its identity. */
interface Learned {
  /** Whether the environment itself could be read. */
  complete: boolean;
  /** The survey in force when the source was read again. */
  authority?: Survey | undefined;
  /** The truth at that moment, once it was read. */
  source?: Source | 'gone';
}

/**
 * Watches everything that passes between the engine and the world and knows what must never happen. It believes neither: it
 * compares what the engine does with the truth at the moment the engine asked for it.
 */
export class Witness {
  /** The first that was seen. */
  violation: Violation | undefined;
  readonly #truth: Truth;
  /** By environment, the identity it got when it was made. */
  readonly #written = new Map<EnvironmentId, Identity>();
  #configured: ReadonlySet<ProjectId> = new Set();
  #active = new Map<string, { readonly run: AbortSignal; calls: number }>();
  #effects = new Set<string>();
  #learned = new WeakMap<AbortSignal, Learned>();
  #surveys: Surveys;
  /** A provider called a listing complete that was not: from then on the engine may rightly be wrong about names and holds. */
  #liedTo = false;
  /** Effects begun so far. */
  effects = 0;

  constructor(truth: Truth) {
    this.#truth = truth;
    this.#surveys = this.#noSurveys();
  }

  /** What the engine is told about projects, and what it takes over. */
  get surveys(): Surveys {
    return this.#surveys;
  }

  /** A process starts, with nothing in memory: all that was known of its predecessor is void. */
  started(configured: readonly ProjectId[]): void {
    this.#configured = new Set(configured);
    this.#active = new Map();
    this.#effects = new Set();
    this.#learned = new WeakMap();
    this.#surveys = this.#noSurveys();
    this.#liedTo = false;
  }

  accuse(invariant: Invariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  callBegins(key: string, run: AbortSignal): void {
    const active = this.#active.get(key);
    if (active === undefined) this.#active.set(key, { run, calls: 1 });
    else if (active.run === run) active.calls += 1;
    else this.accuse('one run per key', `two runs of ${key} at once`);
  }

  callEnds(key: string): void {
    const active = this.#active.get(key);
    if (active === undefined) return;
    active.calls -= 1;
    if (active.calls === 0) this.#active.delete(key);
  }

  listed(scope: Scope, reading: Reading<ObservedEnvironment>, run: AbortSignal, lie: boolean): void {
    this.#liedTo ||= lie;
    if ('all' in scope) for (const id of this.#configured) this.#surveys.passListed(id, reading);
    else if ('project' in scope) this.#surveys.projectListed(scope.project, reading);
    else this.#learned.set(run, { complete: reading.complete && reading.items[0]?.complete !== false });
  }

  rereadBegins(project: ProjectId, run: AbortSignal): void {
    const learned = this.#learned.get(run);
    if (learned !== undefined) learned.authority = this.#surveys.latest(project);
  }

  reread(project: ProjectId, ref: SourceRef, run: AbortSignal): void {
    const learned = this.#learned.get(run);
    if (learned !== undefined) learned.source = this.#truth.sourceOf(project, ref) ?? 'gone';
  }

  held(project: ProjectId, id: EnvironmentId): void {
    const survey = this.#surveys.latest(project);
    if (survey !== undefined && survey.candidates.size > survey.allowed) return;
    this.accuse('a hold has a reason', `${id} is held, and ${survey?.candidates.size} want to go where ${survey?.allowed} may`);
  }

  stops(identity: Identity, component: ComponentName, versions: 'every version' | 'the version before'): void {
    const user = this.#liedTo ? undefined : this.#truth.userOf(identity.id, component, versions);
    if (user !== undefined)
      this.accuse(
        'what is in use is not stopped',
        `${versions} of ${identity.name}/${component} is stopped, and ${user} uses it`,
      );
  }

  effectBegins(identity: Identity, component: ComponentName, run: AbortSignal): void {
    this.effects += 1;
    const what = `${identity.name}/${component}`;
    if (run.aborted) this.accuse('an aborted run begins nothing', `an aborted run touches ${what}`);
    if (this.#effects.has(`${identity.id}/${component}`))
      this.accuse('no effect twice at once', `two effects on ${what} at once`);
    this.#effects.add(`${identity.id}/${component}`);
    if (this.#learned.get(run)?.complete !== true)
      this.accuse('what could not be read is left alone', `${what} is changed after an incomplete reading`);
    const written = this.#truth.identityOf(identity.id);
    if (written === undefined || this.#liedTo) return;
    if (written.name !== identity.name || written.createdAt !== identity.createdAt)
      this.accuse('an environment keeps its identity', `${written.name} is taken for ${identity.name}`);
  }

  effectEnds(identity: Identity, component: ComponentName): void {
    this.#effects.delete(`${identity.id}/${component}`);
  }

  identityWritten(identity: Identity): void {
    if (this.#written.get(identity.id) === identity) return;
    this.#written.set(identity.id, identity);
    if (this.#liedTo) return;
    for (const other of this.#truth.identities())
      if (other.name === identity.name && other.id !== identity.id)
        this.accuse('no two environments share a name', `${other.id} and ${identity.id} are both called ${identity.name}`);
  }

  removalBegins(identity: Identity, component: ComponentName, run: AbortSignal): void {
    const { id, name, project } = identity;
    this.stops(identity, component, 'every version');
    if (!this.#configured.has(project)) {
      if (!this.#surveys.isReleased(id))
        this.accuse('nothing is destroyed whose source wants it', `${name} is of an unknown project, and nobody released it`);
      return;
    }
    const { source, authority } = this.#learned.get(run) ?? {};
    if (source === undefined)
      return this.accuse('nothing is destroyed whose source wants it', `the source of ${name} was not read again`);
    if (source !== 'gone') {
      const content = this.#truth.contentOf(source);
      const wish = content.wants(source.ref);
      if (wish === 'yes' && content.components !== undefined && !Object.hasOwn(content.components, component)) return;
      if (wish !== 'no')
        return this.accuse('nothing is destroyed whose source wants it', `${name}/${component} goes; wanted: ${wish}`);
    }
    this.#checkAuthority(identity, authority);
  }

  #checkAuthority({ id, name, project }: Identity, authority: Survey | undefined): void {
    if (authority?.complete !== true)
      return this.accuse('nothing incomplete authorises a deletion', `${name} goes after an incomplete reading`);
    const exceeded = this.#surveys.exceededBy(project, id, authority);
    if (exceeded === undefined || (this.#liedTo && exceeded !== authority)) return;
    const { begun, allowed } = exceeded;
    this.accuse('deletions per pass are bounded', `${name} is number ${begun.size} to go where ${allowed} may`);
  }

  #noSurveys(): Surveys {
    return new Surveys((source) => this.#truth.contentOf(source).wants(source.ref));
  }
}
