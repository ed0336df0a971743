import { describe, expect, it } from 'vitest';
import { senseless } from './answer.ts';
import { createKeptListing } from './kept-listing.ts';
import type { Listing } from './read-pages.ts';
import type { SharedLook } from './shared-look.ts';

const { signal } = new AbortController();

interface Pull {
  readonly path: string;
  readonly commit?: string;
}

const here: Pull = { path: 'Acme/Shop', commit: 'a' };
const complete = (...items: readonly Pull[]): Listing<Pull> => ({ complete: true, items });
const incomplete: Listing<Pull> = { complete: false, items: [here], refusal: senseless('A page is missing.') };

const create = (shared: SharedLook | undefined) => {
  const state = { now: 1_000, listing: complete(here) };
  const kept = createKeptListing<Pull>({
    read: async () => state.listing,
    shared,
    path: 'acme/shop',
    pathOf: ({ path }) => path,
    hasCommit: ({ commit }) => commit !== undefined,
    now: () => state.now,
  });
  return { state, kept };
};

const always: SharedLook = { isUnchanged: async () => true };

describe('what was listed', () => {
  it('is handed out again for as long as nothing changed since its reading began', async () => {
    const asked: unknown[] = [];
    const { state, kept } = create({
      isUnchanged: async (...question) => {
        asked.push(question.slice(0, 3));
        return true;
      },
    });
    expect(await kept.readUnchanged(900, signal)).toBeUndefined();
    const listing = await kept.read(signal);
    state.now = 2_000;
    expect(await kept.readUnchanged(1_900, signal)).toBe(listing);
    expect(asked).toEqual([
      ['acme/shop', Number.NEGATIVE_INFINITY, 900],
      ['acme/shop', 1_000, 1_900],
    ]);
  });

  it.each([
    ['something changed', complete(here), { isUnchanged: async () => false }],
    ['whoever waits goes away', complete(here), { isUnchanged: () => Promise.reject(new Error('went away')) }],
    ['nobody shares a look', complete(here), undefined],
    ['it was incomplete', incomplete, always],
    ['the repository is called otherwise by now', complete({ path: 'acme/store', commit: 'a' }), always],
    ['a commit is not known yet', complete(here, { path: 'acme/shop' }), always],
  ])('is not handed out again when %s', async (_case, listing, shared) => {
    const { state, kept } = create(shared);
    await kept.read(signal);
    state.listing = listing;
    expect(await kept.read(signal)).toBe(listing);
    expect(await kept.readUnchanged(1_000, signal)).toBeUndefined();
  });
});
