import type { Listing } from './read-pages.ts';
import type { SharedChanges } from './shared-changes.ts';

/** What was listed of a repository, for as long as a look that many share says that it is still so. */
export interface CachedListing<T> {
  read(signal: AbortSignal): Promise<Listing<T>>;
  /** What was read last, if it was complete and nothing has changed, as of a time of our watch or later. */
  readUnchanged(asOf: number, signal: AbortSignal): Promise<Listing<T> | undefined>;
}

export interface CachedListingOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<Listing<T>>;
  readonly shared: SharedChanges | undefined;
  /** Of the repository. */
  readonly path: string;
  /** Where the forge says that an item is. */
  readonly pathOf: (item: T) => string | undefined;
  /** Where it is not, it will be known in a moment, and nothing needs to change for that. */
  readonly hasCommit: (item: T) => boolean;
  readonly now: () => number;
}

export const createCachedListing = <T>(options: CachedListingOptions<T>): CachedListing<T> => {
  const { read, shared, path, pathOf, hasCommit, now } = options;
  let cached: { readonly listing: Listing<T>; readonly at: number } | undefined;

  /** A repository that was renamed can be read under its old path, but the shared look calls it by the new one. */
  const isHere = (item: T): boolean => pathOf(item)?.toLowerCase() === path.toLowerCase();

  return {
    async read(signal) {
      const at = now();
      const listing = await read(signal);
      if (shared !== undefined)
        cached = listing.complete && listing.items.every((item) => isHere(item) && hasCommit(item)) ? { listing, at } : undefined;
      return listing;
    },

    async readUnchanged(asOf, signal) {
      if (shared === undefined) return undefined;
      const before = cached;
      // Also for the first time: what is read after a look is what the next one can speak for.
      const isUnchanged = shared.isUnchanged(path, before?.at ?? Number.NEGATIVE_INFINITY, asOf, signal);
      // Only an abort rejects, and whoever reads then says so.
      return (await isUnchanged.catch(() => false)) ? before?.listing : undefined;
    },
  };
};
