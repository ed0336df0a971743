/**
 * Matches a ref name against a pattern: `*` within a path segment, `**` across segments, `?` for one character.
 *
 * By hand, because patterns come from strangers and the glob libraries compile to regular expressions whose matching time a
 * pattern can make exponential. This keeps all places in the pattern that the name so far can lead to, so it takes at most length
 * times length steps.
 */
export const matchesGlob = (name: string, pattern: string): boolean => {
  const parts = pattern.match(/\*\*|./gsu) ?? [];
  let reached = new Set([0]);
  for (const character of name) {
    const next = new Set<number>();
    for (const at of reached) {
      const part = parts[at];
      // A star may also stand for nothing; the set grows while it is walked.
      if (part === '**' || part === '*') reached.add(at + 1);
      if (part === '**' || (part === '*' && character !== '/')) next.add(at);
      else if (part === character || (part === '?' && character !== '/')) next.add(at + 1);
    }
    if (next.size === 0) return false;
    reached = next;
  }
  for (const at of reached) if (parts[at] === '**' || parts[at] === '*') reached.add(at + 1);
  return reached.has(parts.length);
};
