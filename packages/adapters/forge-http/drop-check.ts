import type { Answer } from './answer.ts';
import { confirmEmpty } from './empty-list.ts';
import type { Listing } from './read-pages.ts';

/** A drop from so few to none is usual. */
const ordinaryDrop = 2;

/** Confirms an empty list if it had several items before, or on the first reading. */
export const createDropCheck = (
  shown: string,
): (<T>(listing: Listing<T>, recount: () => Promise<Answer<number>>) => Promise<Listing<T>>) => {
  let before: number | undefined;

  return async (listing, recount) => {
    const isOrdinary = before !== undefined && before <= ordinaryDrop;
    const message = `The forge listed no ${shown}, but it has some.`;
    const checked = isOrdinary ? listing : await confirmEmpty(listing, recount, message);
    if (checked.complete) before = checked.items.length;
    return checked;
  };
};
