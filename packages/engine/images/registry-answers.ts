import type { FindAnswer, ImageLocation, InspectAnswer, Registry, TagsAnswer } from './registry.ts';

type Repository = Omit<ImageLocation, 'reference'>;

interface Kept<T> {
  readonly at: number;
  readonly answer: Promise<T>;
}

/** The tags of one repository that match any of the patterns asked for lately. */
interface Listing extends Kept<TagsAnswer> {
  readonly patterns: ReadonlyMap<string, PatternUse>;
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

  /** The tags that match a pattern. A pattern that is new to the repository is a reason to list it again. */
  async tags(repository: Repository, pattern: string, matches: PatternUse['matches']): Promise<TagsAnswer> {
    const key = keyOf({ ...repository, reference: '' });
    const before = this.#listings.get(key);
    const now = this.#now();
    const isKnown = before?.patterns.has(pattern) === true && this.#isFresh(before);
    const used = [...(before?.patterns ?? [])].filter(([, { askedAt }]) => now - askedAt <= 2 * this.#freshForMs);
    const patterns = new Map([...used, [pattern, { matches, askedAt: now }] as const]);
    const listing = isKnown ? { ...before, patterns } : { at: now, patterns, answer: this.#list(repository, patterns) };
    this.#listings.set(key, listing);
    listing.answer.catch(() => {
      if (this.#listings.get(key)?.answer === listing.answer) this.#listings.delete(key);
    });
    const answer = await listing.answer;
    return answer.state === 'missing' ? answer : { ...answer, tags: answer.tags.filter(matches) };
  }

  #list(repository: Repository, patterns: Listing['patterns']): Promise<TagsAnswer> {
    const all = [...patterns.values()];
    return this.#registry.tags(repository, (tag) => all.some(({ matches }) => matches(tag)), this.#closing.signal);
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

const keyOf = ({ project, repository, reference }: ImageLocation): string => `${project} ${repository} ${reference}`;
