import { type Answer, invalidAnswer } from './answer.ts';
import type { Listing } from './read-pages.ts';

/** Some proxies and broken replicas answer with an empty list, so it counts only if `recount` confirms it. */
export const confirmEmpty = async <T>(
  listing: Listing<T>,
  recount: () => Promise<Answer<number>>,
  message: string,
): Promise<Listing<T>> => {
  if (!listing.complete || listing.items.length > 0) return listing;
  const count = await recount();
  if (!count.ok) return { complete: false, items: [], refusal: count };
  return count.value === 0 ? listing : { complete: false, items: [], refusal: invalidAnswer(message) };
};
