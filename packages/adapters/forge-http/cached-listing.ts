import type { Listing } from './read-pages.ts';
import type { SharedChanges } from './shared-changes.ts';

/** The last listing of a repository, as long as shared changes say that it is up to date. */
export interface CachedListing<T> {
  read(signal: AbortSignal): Promise<Listing<T>>;
  /** The last complete listing if nothing has changed, as of a time of the local clock or later. */
  readUnchanged(asOf: number, signal: AbortSignal): Promise<Listing<T> | undefined>;
}

export interface CachedListingOptions<T> {
  readonly read: (signal: AbortSignal) => Promise<Listing<T>>;
  readonly shared: SharedChanges | undefined;
  readonly path: string;
  readonly pathOf: (item: T) => string | undefined;
  /** An item without a commit gets one soon, without being reported as changed. */
  readonly hasCommit: (item: T) => boolean;
  readonly now: () => number;
}

export const createCachedListing = <T>(options: CachedListingOptions<T>): CachedListing<T> => {
  const { read, shared, path, pathOf, hasCommit, now } = options;
  let cached: { readonly listing: Listing<T>; readonly at: number } | undefined;

  /** A renamed repository can be read under its old path, but shared changes use the new one. */
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
      // Also the first time: only what is read after an update can be confirmed by the next one.
      const isUnchanged = shared.isUnchanged(path, before?.at ?? Number.NEGATIVE_INFINITY, asOf, signal);
      // Only an abort rejects; the reading that follows reports it.
      return (await isUnchanged.catch(() => false)) ? before?.listing : undefined;
    },
  };
};
