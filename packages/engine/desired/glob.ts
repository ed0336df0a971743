/**
 * Matches a ref name against a pattern: `*` within a path segment, `**` across segments, `?` for one character.
 *
 * By hand, because patterns come from strangers and the glob libraries compile to regular expressions whose matching time a
 * pattern can make exponential. This walks name and pattern with one remembered position per kind of star: at most
 * length times length steps.
 */
export const matchesGlob = (name: string, pattern: string): boolean => {
  let n = 0;
  let p = 0;
  let star: { p: number; n: number } | undefined;
  let doubleStar: { p: number; n: number } | undefined;
  for (;;) {
    if (p < pattern.length && pattern[p] === '*') {
      if (pattern[p + 1] === '*') {
        p += 2;
        doubleStar = { p, n };
        star = undefined;
      } else {
        p += 1;
        star = { p, n };
      }
      continue;
    }
    if (n === name.length && p === pattern.length) return true;
    if (n < name.length && p < pattern.length && fits(name[n], pattern[p])) {
      n += 1;
      p += 1;
      continue;
    }
    if (star !== undefined && star.n < name.length && name[star.n] !== '/') {
      star.n += 1;
      n = star.n;
      p = star.p;
      continue;
    }
    star = undefined;
    if (doubleStar !== undefined && doubleStar.n < name.length) {
      doubleStar.n += 1;
      n = doubleStar.n;
      p = doubleStar.p;
      continue;
    }
    return false;
  }
};

const fits = (character: string | undefined, wanted: string | undefined): boolean =>
  character === wanted || (wanted === '?' && character !== '/');
