import { type EphError, isEphError } from '@eph/contract';
import type { FindAnswer, ImageLocation, InspectAnswer, Registry, TagsAnswer } from './registry.ts';

type Repository = Omit<ImageLocation, 'reference'>;

interface Kept<T> {
  readonly at: number;
  readonly answer: Promise<T>;
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

/**
 * Asks a registry for many environments together: each tag once per `freshForMs`, and the tags of a repository once for all patterns.
 * What failed is not kept: the registry itself knows when it may be asked again.
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
    if (known !== undefined) return known.answer;
    const [oldest] = this.#details.keys();
    if (oldest !== undefined && this.#details.size >= mostDetails) this.#details.delete(oldest);
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
      const now = this.#now();
      for (const [pattern, use] of last?.patterns ?? [])
        if (!patterns.has(pattern) && now - use.askedAt <= 2 * this.#freshForMs) patterns.set(pattern, use);
      const all = [...patterns.values()];
      const matchesAny = (tag: string): boolean => all.some(({ matches }) => matches(tag));
      const listing = { at: now, patterns, answer: this.#registry.tags(repository, matchesAny, this.#closing.signal) };
      this.#nextListings.delete(key);
      this.#listings.set(key, listing);
      try {
        return await listing.answer;
      } catch (error) {
        if (this.#listings.get(key) === listing) this.#listings.delete(key);
        throw error;
      }
    };
    const planned = { patterns, answer: list() };
    this.#nextListings.set(key, planned);
    return planned;
  }

  /** What was read of a repository may not be so any more. */
  forget(repository: string): void {
    const isOf = (key: string): boolean => key.split(' ')[1] === repository;
    for (const all of [this.#found, this.#listings]) for (const key of all.keys()) if (isOf(key)) all.delete(key);
  }

  close(): void {
    this.#closing.abort();
  }

  #isFresh({ at }: Kept<unknown>): boolean {
    return this.#now() - at < this.#freshForMs;
  }

  #keep<T>(all: Map<string, Kept<T>>, key: string, ask: () => Promise<T>): Promise<T> {
    const known = all.get(key);
    if (known !== undefined && this.#isFresh(known)) return known.answer;
    this.#sweep();
    const kept = { at: this.#now(), answer: ask() };
    all.set(key, kept);
    kept.answer.catch(() => {
      if (all.get(key) === kept) all.delete(key);
    });
    return kept.answer;
  }

  #sweep(): void {
    if (this.#now() - this.#sweptAt < this.#freshForMs) return;
    this.#sweptAt = this.#now();
    for (const all of [this.#found, this.#listings]) for (const [key, kept] of all) if (!this.#isFresh(kept)) all.delete(key);
  }
}

/** The registry answered, and what was asked for cannot be had. */
export const isRefusal = (error: unknown): error is EphError => isEphError(error) && error.code === 'registry.refused';

const keyOf = ({ project, repository, reference }: ImageLocation): string => `${project} ${repository} ${reference}`;
