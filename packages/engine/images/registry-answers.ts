import { type EphError, isEphError } from '@eph/contract';
import type { FindAnswer, ImageLocation, InspectAnswer, Registry, TagsAnswer } from './registry.ts';

type Repository = Omit<ImageLocation, 'reference'>;

interface Kept<T> {
  readonly at: number;
  readonly answer: Promise<T>;
  /** What came of it; undefined while it is awaited. */
  outcome?: 'found' | 'missing' | 'failed';
}

/** The tags of one repository that match any of the patterns asked for lately. */
interface Listing extends Kept<TagsAnswer> {
  readonly patterns: Map<string, PatternUse>;
}

interface PatternUse {
  readonly matches: (tag: string) => boolean;
  readonly askedAt: number;
}

/** What a digest names never changes; this many descriptions of images are kept. */
const mostDetails = 2_000;

/** Where answers count for an hour, nobody should wait so long because a registry was away for a moment. */
const longestFailureMs = 30_000;

/**
 * Asks a registry for many environments together: each tag once per `freshForMs`, and the tags of a repository once for all patterns.
 * Failures are shared as well: a thousand environments wait for what one registry refuses.
 */
export class RegistryAnswers {
  readonly #registry: Registry;
  readonly #now: () => number;
  readonly #freshForMs: number;
  readonly #found = new Map<string, Kept<FindAnswer>>();
  readonly #details = new Map<string, Kept<InspectAnswer>>();
  readonly #listings = new Map<string, Listing>();
  readonly #nextListings = new Map<string, Pick<Listing, 'patterns' | 'answer'>>();
  readonly #closing = new AbortController();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(registry: Registry, freshForMs: number, now: () => number) {
    this.#registry = registry;
    this.#freshForMs = freshForMs;
    this.#now = now;
  }

  find(image: ImageLocation): Promise<FindAnswer> {
    const { signal } = this.#closing;
    return this.#keep(this.#found, keyOf(image), () => this.#registry.find(image, signal));
  }

  /** @param image by digest */
  inspect(image: ImageLocation, platform: string | undefined): Promise<InspectAnswer> {
    const key = `${keyOf(image)} ${platform ?? ''}`;
    const known = this.#details.get(key);
    // Those that nobody asks for get to the front, and are forgotten from there.
    this.#details.delete(key);
    if (known !== undefined && (known.outcome === 'found' || this.#isFresh(known))) {
      this.#details.set(key, known);
      return known.answer;
    }
    const [unused] = this.#details.keys();
    if (unused !== undefined && this.#details.size >= mostDetails) this.#details.delete(unused);
    return this.#keep(this.#details, key, () => this.#registry.inspect(image, platform, this.#closing.signal));
  }

  /**
   * The tags that match a pattern. A pattern that is new to the repository is a reason to list it again, after the listing that is
   * under way: what is asked for meanwhile is listed together.
   */
  async tags(repository: Repository, pattern: string, matches: PatternUse['matches']): Promise<TagsAnswer> {
    const key = keyOf({ ...repository, reference: '' });
    const last = this.#listings.get(key);
    const isKnown = last?.patterns.has(pattern) === true && this.#isFresh(last);
    const listing = isKnown ? last : (this.#nextListings.get(key) ?? this.#planListing(key, repository, last));
    listing.patterns.set(pattern, { matches, askedAt: this.#now() });
    const answer = await listing.answer;
    return answer.state === 'missing' ? answer : { ...answer, tags: answer.tags.filter(matches) };
  }

  #planListing(key: string, repository: Repository, last: Listing | undefined): Pick<Listing, 'patterns' | 'answer'> {
    const patterns: Listing['patterns'] = new Map();
    const list = async (): Promise<TagsAnswer> => {
      // Whoever waits for the last one is told why it failed.
      await last?.answer.catch(() => undefined);
      for (const [pattern, use] of last?.patterns ?? [])
        if (!patterns.has(pattern) && this.#isWithin(use.askedAt, 2 * this.#freshForMs)) patterns.set(pattern, use);
      const all = [...patterns.values()];
      const matchesAny = (tag: string): boolean => all.some(({ matches }) => matches(tag));
      const kept = this.#ask(() => this.#registry.tags(repository, matchesAny, this.#closing.signal));
      this.#nextListings.delete(key);
      this.#listings.set(key, Object.assign(kept, { patterns }));
      return await kept.answer;
    };
    const planned = { patterns, answer: list() };
    this.#nextListings.set(key, planned);
    return planned;
  }

  /** What was read of a repository may not be so any more. */
  forget(repository: string): void {
    const isOf = (key: string): boolean => key.split(' ')[1] === repository;
    for (const all of [this.#found, this.#listings]) for (const key of all.keys()) if (isOf(key)) all.delete(key);
    for (const [key, { outcome }] of this.#details) if (isOf(key) && outcome !== 'found') this.#details.delete(key);
  }

  close(): void {
    this.#closing.abort();
  }

  #isFresh({ at, outcome }: Kept<unknown>): boolean {
    if (outcome === undefined) return true;
    const forMs = outcome === 'failed' ? Math.min(this.#freshForMs, longestFailureMs) : this.#freshForMs;
    return this.#isWithin(at, forMs);
  }

  /** A clock that was set back must not keep an old answer until it has caught up. */
  #isWithin(at: number, ms: number): boolean {
    const age = this.#now() - at;
    return age >= 0 && age < ms;
  }

  #keep<T extends Answer>(all: Map<string, Kept<T>>, key: string, ask: () => Promise<T>): Promise<T> {
    const known = all.get(key);
    if (known !== undefined && this.#isFresh(known)) return known.answer;
    this.#sweep();
    const kept = this.#ask(ask);
    all.set(key, kept);
    return kept.answer;
  }

  #ask<T extends Answer>(ask: () => Promise<T>): Kept<T> {
    const kept: Kept<T> = { at: this.#now(), answer: ask() };
    kept.answer.then(
      ({ state }) => (kept.outcome = state),
      () => (kept.outcome = 'failed'),
    );
    return kept;
  }

  #sweep(): void {
    if (this.#isWithin(this.#sweptAt, this.#freshForMs)) return;
    this.#sweptAt = this.#now();
    for (const all of [this.#found, this.#listings]) for (const [key, kept] of all) if (!this.#isFresh(kept)) all.delete(key);
  }
}

type Answer = { readonly state: 'found' | 'missing' };

/** The registry answered, and what was asked for cannot be had. */
export const isRefusal = (error: unknown): error is EphError => isEphError(error) && error.code === 'registry.refused';

/** What was answered to somebody with credentials is not for others. */
const keyOf = ({ project, repository, reference, pullSecrets }: ImageLocation): string => {
  const { provider = '', names = [] } = pullSecrets ?? {};
  return `${project} ${repository} ${reference} ${JSON.stringify([provider, ...names])}`;
};
