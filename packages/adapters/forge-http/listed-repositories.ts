import { completeReading, incompleteReading, type ListedRepository, type Reading } from '@eph/contract';
import { invalidAnswer } from './answer.ts';
import type { Listing } from './read-pages.ts';

/**
 * An empty list counts as incomplete: it is what a token without rights and a broken proxy show, and nobody asks Eph to watch an owner
 * without repositories for long.
 */
export const toRepositoryReading = (listing: Listing<ListedRepository>, shown: string): Reading<ListedRepository> => {
  if (!listing.complete) return incompleteReading(listing.items, listing.refusal.fault);
  if (listing.items.length > 0) return completeReading(listing.items);
  return incompleteReading([], invalidAnswer(`${shown} shows no repository; check the rights that Eph was given.`).fault);
};
