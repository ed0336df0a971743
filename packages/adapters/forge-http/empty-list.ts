import { type Answer, invalidAnswer } from './answer.ts';
import type { Listing } from './read-pages.ts';

/**
 * A success with an empty list is what some proxies and broken replicas answer, so it counts only if the forge confirms it in another way.
 *
 * @param countOtherwise asks the forge
 * @param doubt what people are told where that finds some
 */
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
