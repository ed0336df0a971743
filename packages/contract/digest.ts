/**
 * 64 bits in two halves of different kind. Short, because a hundred thousand marks are read in a pass and what does not fit in a cache
 * is what takes time; not a cryptographic one, because whoever forged two equal marks
 * would only hide a change of his own environment.
 */
export const digest = (text: string): string => {
  let fnv = 0x811c9dc5;
  let sum = 0x9e3779b9;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    fnv = Math.imul(fnv ^ code, 0x01000193);
    sum = Math.imul(sum ^ (sum >>> 15) ^ code, 0x85ebca6b);
  }
  return (fnv >>> 0).toString(36) + (sum >>> 0).toString(36);
};
