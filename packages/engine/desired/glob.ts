/**
 * Whether a name matches a pattern: `*` within a segment, `**` across segments, `?` for one character.
 *
 * Not a library: patterns are untrusted, and glob libraries compile to regular expressions that a pattern can make
 * exponential. This simulates the automaton, in at most name length times pattern length steps.
 */
export type Glob = (name: string) => boolean;

/** No file system or Git server allows longer names; they match nothing. */
const maxNameLength = 4096;

export const matchesGlob = (name: string, pattern: string): boolean => compile(pattern.match(/\*\*|./gsu) ?? [])(name);

/** For files: `**` before a slash also matches no folder at all, as in other tools. */
export const compilePathGlob = (pattern: string): Glob => compile(pattern.match(/(?<=^|\/)\*\*\/|\*\*|./gsu) ?? []);

const compile = (parts: readonly string[]): Glob => {
  const end = parts.length;
  const isStar = parts.map((part) => part.startsWith('*'));
  const firstWildcard = parts.findIndex((part, at) => isStar[at] || part === '?');
  const start = firstWildcard === -1 ? end : firstWildcard;
  const prefix = parts.slice(0, start).join('');

  /** A star may match nothing, so the state after it is reached too. One for folders ends only after a slash. */
  const spread = (reached: Uint8Array, isAfterSlash: boolean): void => {
    for (let at = start; at < end; at += 1)
      if (reached[at] === 1 && isStar[at] && (isAfterSlash || parts[at] !== '**/')) reached[at + 1] = 1;
  };

  const staysAt = (at: number, character: string): boolean => isStar[at] === true && (character !== '/' || parts[at] !== '*');

  /** From the end, so that one array can be updated in place. */
  const advance = (reached: Uint8Array, character: string): boolean => {
    let isAlive = false;
    for (let at = end; at > start; at -= 1) {
      const before = parts[at - 1];
      const comes = reached[at - 1] === 1 && (before === character || (before === '?' && character !== '/'));
      const isHere = comes || (reached[at] === 1 && staysAt(at, character));
      reached[at] = isHere ? 1 : 0;
      isAlive ||= isHere;
    }
    if (!staysAt(start, character)) reached[start] = 0;
    return isAlive || reached[start] === 1;
  };

  return (name) => {
    if (name.length > maxNameLength || !name.startsWith(prefix)) return false;
    const reached = new Uint8Array(end + 1);
    reached[start] = 1;
    spread(reached, true);
    for (const character of name.slice(prefix.length)) {
      if (!advance(reached, character)) return false;
      spread(reached, character === '/');
    }
    return reached[end] === 1;
  };
};
