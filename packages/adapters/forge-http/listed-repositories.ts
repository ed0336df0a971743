import { completeReading, incompleteReading, type ListedRepository, type Reading } from '@eph/contract';
import { invalidAnswer } from './answer.ts';
import type { Listing } from './read-pages.ts';

/** An empty list counts as incomplete: a token without rights and a broken proxy return the same. */
export const toRepositoryReading = (listing: Listing<ListedRepository>, shown: string): Reading<ListedRepository> => {
  if (!listing.complete) return incompleteReading(listing.items, listing.refusal.fault);
  if (listing.items.length > 0) return completeReading(listing.items);
  return incompleteReading([], invalidAnswer(`${shown} lists no repositories; check the permissions that Eph was given.`).fault);
};
