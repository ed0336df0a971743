import type { Answer } from './answer.ts';
import { confirmEmpty } from './empty-list.ts';
import type { Listing } from './read-pages.ts';

/** From so few to none is an ordinary day. */
const ordinaryDrop = 2;

/** For lists that are read again and again: an empty one is confirmed where there were several items before, or where nobody knows. */
export const createDropCheck = (
  shown: string,
): (<T>(listing: Listing<T>, recount: () => Promise<Answer<number>>) => Promise<Listing<T>>) => {
  let before: number | undefined;

  return async (listing, recount) => {
    const isOrdinary = before !== undefined && before <= ordinaryDrop;
    const message = `No ${shown} were listed, but there are some.`;
    const checked = isOrdinary ? listing : await confirmEmpty(listing, recount, message);
    if (checked.complete) before = checked.items.length;
    return checked;
  };
};
