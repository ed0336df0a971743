import { type Answer, senseless } from './answer.ts';
import type { Listing } from './read-pages.ts';

/** From so few to none is an ordinary day. */
const ordinaryDrop = 2;

/**
 * A success with an empty list is what some proxies and broken replicas answer. Where there were several items before, or where nobody
 * knows, an empty list counts only if the forge confirms it in another way: `countOtherwise` asks it.
 */
export const createDropCheck = (
  shown: string,
): (<T>(listing: Listing<T>, countOtherwise: () => Promise<Answer<number>>) => Promise<Listing<T>>) => {
  let before: number | undefined;

  return async (listing, countOtherwise) => {
    if (!listing.complete) return listing;
    if (listing.items.length === 0 && (before === undefined || before > ordinaryDrop)) {
      const count = await countOtherwise();
      if (!count.ok) return { complete: false, items: [], refusal: count };
      if (count.value !== 0)
        return { complete: false, items: [], refusal: senseless(`No ${shown} were listed, but there are some.`) };
    }
    before = listing.items.length;
    return listing;
  };
};
