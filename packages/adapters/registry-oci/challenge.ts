/** How a registry wants to be asked, as RFC 9110 writes it in `WWW-Authenticate`. */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const parameter = new RegExp(`[\\s,]*(${token})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, 'y');
const scheme = new RegExp(`[\\s,]*(${token})(?=[\\s,]|$)(?!\\s*=)`, 'y');

/** A header may have several challenges. What follows something that cannot be read is left out. */
export const parseChallenges = (header: string): readonly Challenge[] => {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  for (let at = 0; at < header.length; ) {
    const named = matchAt(parameter, header, at);
    const current = challenges.at(-1);
    if (named !== undefined && current !== undefined) {
      const [whole, name = '', quoted, bare = ''] = named;
      current.parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? bare);
      at += whole.length;
      continue;
    }
    const begun = matchAt(scheme, header, at);
    if (begun === undefined) break;
    const [whole, name = ''] = begun;
    challenges.push({ scheme: name.toLowerCase(), parameters: new Map() });
    at += whole.length;
  }
  return challenges;
};

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
};
