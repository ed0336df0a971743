/**
 * 64 bits from two 32-bit hashes. Short, because a pass compares a hundred thousand marks, which should fit in the CPU cache. Not
 * cryptographic, because a forged collision would only hide a change of the forger's own environment.
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
