import {
  type EnvironmentId,
  type ObservedEnvironment,
  type ProjectId,
  type Reading,
  type Source,
  sourceKey,
} from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Wish } from './contents.ts';

/** One look at a project that the engine took over, as it was delivered. */
export interface Survey {
  readonly number: number;
  readonly complete: boolean;
  /** How many of the candidates may go, now or later. */
  readonly allowed: number;
  /** Environments that nobody wanted then and that were not seen wanted since. */
  readonly candidates: Set<EnvironmentId>;
  /** Those whose removal began, the released ones not counted. */
  readonly begun: Set<EnvironmentId>;
}

/** What the engine was told about a project. */
interface Hearsay {
  sources: Reading<Source> | undefined;
  /** From a look at this project alone, not used by a survey yet. */
  own: Reading<ObservedEnvironment> | undefined;
  /** From a pass, not used by a survey yet. */
  snapshot: Reading<ObservedEnvironment> | undefined;
  /** What the survey under way compares with Git. */
  observed: Reading<ObservedEnvironment> | undefined;
  /** A file could not be read: who wants to go is known no better than as an upper bound. */
  doubtful: boolean;
  /** A complete survey has been made since the start. */
  surveyed: boolean;
}

/** Everything one process was told about its projects, and how many deletions that authorises. */
export class Surveys {
  readonly #wishOf: (source: Source) => Wish;
  readonly #hearsay = new Map<ProjectId, Hearsay>();
  readonly #latest = new Map<ProjectId, Survey>();
  /** Surveys in which more wanted to go than may: the bound holds until the rest is released or wanted again. */
  readonly #crowds = new Map<ProjectId, readonly Survey[]>();
  readonly #released = new Set<EnvironmentId>();
  #count = 0;

  constructor(wishOf: (source: Source) => Wish) {
    this.#wishOf = wishOf;
  }

  passListed(project: ProjectId, reading: Reading<ObservedEnvironment>): void {
    this.#heard(project).snapshot = reading;
  }

  projectListed(project: ProjectId, reading: Reading<ObservedEnvironment>): void {
    this.#heard(project).own = reading;
  }

  begins(project: ProjectId): void {
    const heard = this.#heard(project);
    heard.observed = heard.own ?? heard.snapshot;
    if (heard.own === undefined) heard.snapshot = undefined;
    heard.own = undefined;
    heard.doubtful = false;
  }

  sourcesRead(project: ProjectId, reading: Reading<Source>): void {
    this.#heard(project).sources = reading;
  }

  fileUnreadable(project: ProjectId): void {
    this.#heard(project).doubtful = true;
  }

  /** The engine takes over what it was told. */
  absorbed(project: ProjectId): void {
    const heard = this.#heard(project);
    const { sources, observed } = heard;
    if (sources === undefined || observed === undefined) return;
    const wishes = new Map(sources.items.map((source) => [sourceKey(source.ref), this.#wishOf(source)]));
    const items = observed.items.filter((one) => one.identity.project === project);
    const unlisted = sources.complete ? 'no' : 'unclear';
    const isCandidate = (one: ObservedEnvironment): boolean => (wishes.get(sourceKey(one.identity.source)) ?? unlisted) === 'no';
    const candidates = new Set(items.filter(isCandidate).map((one) => one.identity.id));
    const limit = Math.max(5, Math.floor(items.length * 0.2));
    const complete = sources.complete && observed.complete;
    const vanished = complete && sources.items.length === 0 && items.length > 2;
    const crowded = vanished || (complete && !heard.doubtful && candidates.size > limit);
    const allowed = vanished || (crowded && !heard.surveyed) ? 0 : limit;
    heard.surveyed ||= complete;
    this.#count += 1;
    const survey: Survey = { number: this.#count, complete, allowed, candidates, begun: new Set() };
    this.#latest.set(project, survey);
    for (const { ref } of sources.items) {
      const seen = wishes.get(sourceKey(ref)) !== 'no';
      if (seen || heard.doubtful) this.#seenAgain(project, () => identify(project, ref), seen);
    }
    if (crowded) this.#rememberCrowd(project, survey);
  }

  latest(project: ProjectId): Survey | undefined {
    return this.#latest.get(project);
  }

  release(id: EnvironmentId): void {
    this.#released.add(id);
  }

  isReleased(id: EnvironmentId): boolean {
    return this.#released.has(id);
  }

  /** A removal begins by the authority of a survey; returns the survey of which too many go now. */
  exceededBy(project: ProjectId, id: EnvironmentId, authority: Survey): Survey | undefined {
    if (this.#released.has(id)) return undefined;
    const crowds = (this.#crowds.get(project) ?? []).filter((one) => one.number <= authority.number && one.candidates.has(id));
    for (const survey of [authority, ...crowds]) {
      survey.begun.add(id);
      if (survey.begun.size > survey.allowed) return survey;
    }
    return undefined;
  }

  /** What was, or may have been, seen again counts as new when it vanishes again; if it certainly was, its release is spent. */
  #seenAgain(project: ProjectId, identifyIt: () => EnvironmentId, certainly: boolean): void {
    const crowds = this.#crowds.get(project) ?? [];
    if (crowds.length === 0 && this.#released.size === 0) return;
    const id = identifyIt();
    if (certainly) this.#released.delete(id);
    for (const crowd of crowds) crowd.candidates.delete(id);
  }

  #rememberCrowd(project: ProjectId, survey: Survey): void {
    const crowds = this.#crowds.get(project) ?? [];
    const isKnown = crowds.some((one) => one.allowed <= survey.allowed && survey.candidates.isSubsetOf(one.candidates));
    if (!isKnown) this.#crowds.set(project, [...crowds, survey]);
  }

  #heard(project: ProjectId): Hearsay {
    let heard = this.#hearsay.get(project);
    if (heard === undefined) {
      heard = { sources: undefined, own: undefined, snapshot: undefined, observed: undefined, doubtful: false, surveyed: false };
      this.#hearsay.set(project, heard);
    }
    return heard;
  }
}
