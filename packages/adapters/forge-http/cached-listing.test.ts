import { describe, expect, it } from 'vitest';
import { invalidAnswer } from './answer.ts';
import { createCachedListing } from './cached-listing.ts';
import type { Listing } from './read-pages.ts';
import type { SharedChanges } from './shared-changes.ts';

const { signal } = new AbortController();

interface Pull {
  readonly path: string;
  readonly commit?: string;
}

const here: Pull = { path: 'Acme/Shop', commit: 'a' };
const complete = (...items: readonly Pull[]): Listing<Pull> => ({ complete: true, items });
const incomplete: Listing<Pull> = { complete: false, items: [here], refusal: invalidAnswer('A page is missing.') };

const create = (shared: SharedChanges | undefined) => {
  const harness = { now: 1_000, listing: complete(here) };
  const cached = createCachedListing<Pull>({
    read: async () => harness.listing,
    shared,
    path: 'acme/shop',
    pathOf: ({ path }) => path,
    hasCommit: ({ commit }) => commit !== undefined,
    now: () => harness.now,
  });
  return { harness, cached };
};

const always: SharedChanges = { isUnchanged: async () => true };

describe('what was listed', () => {
  it('is handed out again for as long as nothing changed since its reading began', async () => {
    const asked: unknown[] = [];
    const { harness, cached } = create({
      isUnchanged: async (...question) => {
        asked.push(question.slice(0, 3));
        return true;
      },
    });
    expect(await cached.readUnchanged(900, signal)).toBeUndefined();
    const listing = await cached.read(signal);
    harness.now = 2_000;
    expect(await cached.readUnchanged(1_900, signal)).toBe(listing);
    expect(asked).toEqual([
      ['acme/shop', Number.NEGATIVE_INFINITY, 900],
      ['acme/shop', 1_000, 1_900],
    ]);
  });

  it.each([
    ['something changed', complete(here), { isUnchanged: async () => false }],
    ['whoever waits goes away', complete(here), { isUnchanged: () => Promise.reject(new Error('went away')) }],
    ['there are no shared changes', complete(here), undefined],
    ['it was incomplete', incomplete, always],
    ['the repository is called otherwise by now', complete({ path: 'acme/store', commit: 'a' }), always],
    ['a commit is not known yet', complete(here, { path: 'acme/shop' }), always],
  ])('is not handed out again when %s', async (_case, listing, shared) => {
    const { harness, cached } = create(shared);
    await cached.read(signal);
    harness.listing = listing;
    expect(await cached.read(signal)).toBe(listing);
    expect(await cached.readUnchanged(1_000, signal)).toBeUndefined();
  });
});
