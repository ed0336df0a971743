/**
 * Whether a name matches a pattern: `*` within a segment, `**` across segments, `?` for one character.
 *
 * Not a library: patterns are untrusted, and glob libraries compile to regular expressions that a pattern can make
 * exponential. This simulates the automaton with one bit per part of the pattern, so a character of a name takes a step
 * for each 32 parts, whatever the pattern is.
 */
export type Glob = (name: string) => boolean;

/** No file system or Git server allows longer names; they match nothing. */
const maxNameLength = 4096;

export const compileGlob = (pattern: string): Glob => compile(pattern.match(/\*{2,}|./gsu) ?? []);

/** For files: `**` before a slash also matches no folder at all, as in other tools. */
export const compilePathGlob = (pattern: string): Glob => compile(pattern.match(/(?<=^|\/)(?:\*\*\/)+|\*{2,}|./gsu) ?? []);

/** Every branch of a project is compared with the same patterns. Bounded, because every branch may have its own. */
const compiled = new Map<string, Glob>();
const maxCompiled = 500;

/** The first pattern that matches. */
export const findGlob = (name: string, patterns: readonly string[]): string | undefined =>
  patterns.find((pattern) => globOf(pattern)(name));

const globOf = (pattern: string): Glob => {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const [oldest] = compiled.keys();
  if (oldest !== undefined && compiled.size >= maxCompiled) compiled.delete(oldest);
  const glob = compileGlob(pattern);
  compiled.set(pattern, glob);
  return glob;
};

/** How many steps a character of a name takes. */
export const stepsOf = (pattern: string): number => Math.ceil((pattern.length + 1) / 32);

/** A part of several stars is `**`, or `**` and a slash for folders. */
const isStar = (part: string): boolean => part.startsWith('*');
const isFolder = (part: string): boolean => part.endsWith('*/');

const compile = (all: readonly string[]): Glob => {
  const firstWildcard = all.findIndex((part) => isStar(part) || part === '?');
  const prefix = all.slice(0, firstWildcard === -1 ? all.length : firstWildcard).join('');
  const parts = firstWildcard === -1 ? [] : all.slice(firstWildcard);
  const words = Math.ceil((parts.length + 1) / 32);
  const bitsWhere = (holds: (part: string) => boolean): Int32Array => {
    const bits = new Int32Array(words);
    for (const [at, part] of parts.entries()) if (holds(part)) bits[at >> 5] = at0(bits, at >> 5) | (1 << (at & 31));
    return bits;
  };
  const any = bitsWhere((part) => part === '?');
  const stars = bitsWhere(isStar);
  const deepStars = bitsWhere((part) => isStar(part) && part !== '*');
  const starsInSegment = bitsWhere((part) => isStar(part) && !isFolder(part));
  const slashMoves = bitsWhere((part) => part === '/');
  /** The parts that a character gets past. */
  const movesBy = new Map<string, Int32Array>();
  for (const [at, part] of parts.entries()) {
    if (isStar(part) || part === '?') continue;
    const bits = movesBy.get(part) ?? any.slice();
    bits[at >> 5] = at0(bits, at >> 5) | (1 << (at & 31));
    movesBy.set(part, bits);
  }
  const hasFolders = parts.some(isFolder);
  const suffix = parts.slice(parts.findLastIndex((part) => isStar(part) || part === '?') + 1).join('');

  /** A star may match nothing, so the state after it is reached too. One for folders ends only after a slash. */
  const spread = (reached: Int32Array, ends: Int32Array): void => {
    for (let word = 0, carry = 0; word < words; word += 1) {
      const moving = at0(reached, word) & at0(ends, word);
      reached[word] = at0(reached, word) | (moving << 1) | carry;
      carry = moving >>> 31;
    }
  };

  /** The states after a character, and those behind the stars that end there. */
  const step = (reached: Int32Array, moves: Int32Array, stays: Int32Array, ends: Int32Array): boolean => {
    let [isAlive, carry, spreading] = [0, 0, 0];
    for (let word = 0; word < words; word += 1) {
      const before = at0(reached, word);
      const moving = before & at0(moves, word);
      const next = (moving << 1) | carry | (before & at0(stays, word)) | spreading;
      const ending = next & at0(ends, word);
      carry = moving >>> 31;
      spreading = ending >>> 31;
      isAlive |= next;
      reached[word] = next | (ending << 1);
    }
    // A star for folders may be followed by another star.
    if (hasFolders) spread(reached, ends);
    return isAlive !== 0;
  };

  return (name) => {
    if (name.length > maxNameLength || !name.startsWith(prefix) || !name.endsWith(suffix)) return false;
    if (parts.length === 0) return name.length === prefix.length;
    const reached = new Int32Array(words);
    reached[0] = 1;
    spread(reached, stars);
    spread(reached, stars);
    for (const character of name.slice(prefix.length)) {
      const isSlash = character === '/';
      const isAlive = isSlash
        ? step(reached, slashMoves, deepStars, stars)
        : step(reached, movesBy.get(character) ?? any, stars, starsInSegment);
      if (!isAlive) return false;
    }
    return ((at0(reached, parts.length >> 5) >>> (parts.length & 31)) & 1) === 1;
  };
};

/** Never out of bounds here, which the type of an array cannot say. */
const at0 = (bits: Int32Array, word: number): number => bits[word] as number;
