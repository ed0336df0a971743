/**
 * Escapes untrusted text for comments: names of branches and labels, messages, output of programs.
 *
 * Special characters become character references, which Markdown never reads as structure. Forges then search the
 * rendered text for mentions and links; a zero-width space prevents matches.
 */

const zeroWidthSpace = '&#8203;';

/** What forges turn into mentions, issue links, addresses and emoji in rendered text. */
const reference = /@|[#!$%&~^](?=["\p{L}\d_]|$)|:(?=\/\/|[\w+-]+:)|(?<=ww)w(?=\.)|(?<=gh)-(?=\d)/u;
/** Special only at the beginning of a line: lists, heading underlines, GitLab's commands and fences. */
const beginning = /(?<=^ ?)[-+=/:]|(?<=^ ?\d{1,9})[.)]/u;
/** Special anywhere in Markdown, HTML or formulas. */
const meaningful = /[\\`*_{}[\]<>#|~&$^]/u;

const special = new RegExp(`(${reference.source})|${beginning.source}|${meaningful.source}`, 'giu');

/** One escaped line of at most `limit` characters. */
export const inlineText = (text: string, limit: number): string => {
  const escaped = escapeLine(text.slice(0, limit * 2)).trim();
  const isWhole = escaped.length <= limit && text.length <= limit * 2;
  return isWhole ? escaped : `${escaped.slice(0, pieceAt(escaped, limit - 1).begin)}…`;
};

/** The same without a limit and without trimming. */
export const escapeLine = (text: string): string =>
  stripControls(text)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(special, (character, refers: string | undefined) =>
      refers === undefined ? entity(character) : `${entity(character)}${zeroWidthSpace}`,
    );

/** Joins escaped texts so that they do not form a special sequence together. */
export const joinEscaped = (left: string, right: string): string =>
  /\S$/.test(left) && /^[\w/:+&-]/.test(right) ? `${left}${zeroWidthSpace}${right}` : `${left}${right}`;

/**
 * Lines of output for use between `<pre>` and `</pre>`, of at most `limit` characters. A fence of backticks is not
 * enough: GitLab searches the raw text for commands, and reporters search it for their markers.
 */
export const preformatted = (text: string, limit: number): string => {
  const escaped = stripControls(truncateMiddle(text, limit * 2)).replaceAll(
    /[&<>@`]|^[^\S\n]*\//gm,
    (found) => `${found.slice(0, -1)}${entity(found.slice(-1))}`,
  );
  if (escaped.length <= limit) return escaped;
  const share = limit - omission.length;
  const head = escaped.slice(0, pieceAt(escaped, Math.floor(share / 4)).begin);
  return `${head}${omission}${escaped.slice(pieceAt(escaped, escaped.length - (share - head.length)).end)}`;
};

/** Drops the middle: output begins with what ran and ends with why it stopped. */
export const truncateMiddle = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const share = limit - omission.length;
  const head = Math.floor(share / 4);
  return `${text.slice(0, head)}${omission}${text.slice(text.length - (share - head))}`;
};

/** What follows does not begin a line, so the cut cannot turn it into a command. */
const omission = '\n… part of it is left out …\n… ';

/** Bounded: Node's `stripVTControlCharacters` takes seconds for a crafted log. */
const terminalSequences = new RegExp(
  String.raw`\x1b(?:\[[\d;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|[@-Z\\^_])`,
  'g',
);

/** Removes terminal sequences; replaces control characters, direction controls and lone surrogates. */
export const stripControls = (text: string): string =>
  text
    .replaceAll(terminalSequences, '')
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    // The two joiners are part of several scripts and of emoji.
    .replaceAll(/(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD');

/** A link; only its label if the address is not safe. */
export const link = (label: string, address: string): string => {
  const target = safeAddress(address);
  return target === undefined ? label : `[${label}](<${target}>)`;
};

export const linkedAddress = (address: string): string => {
  const target = safeAddress(address);
  return target === undefined ? inlineText(address, 300) : `<${target}>`;
};

const addressLimit = 1_000;

const safeAddress = (address: string): string | undefined => {
  if (address.length > addressLimit || !URL.canParse(address)) return undefined;
  const { protocol, username, password, hostname, origin, pathname, search, hash } = new URL(address);
  if ((protocol !== 'https:' && protocol !== 'http:') || username !== '' || password !== '') return undefined;
  // The URL parser accepts backticks and parentheses in hosts.
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])$/.test(hostname)) return undefined;
  const path = `${pathname}${search}${hash}`.replaceAll(/[^\w\-.~:/?#!$&+,;=%]/g, percentEncode).replaceAll('&', '&amp;');
  const target = path === '/' ? origin : `${origin}${path}`;
  return target.length > addressLimit ? undefined : target;
};

/** A parsed URL is pure ASCII. */
const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const entity = (character: string): string => named[character] ?? `&#${character.charCodeAt(0)};`;

/** The bounds of the character or reference at this position, so that a cut does not split it. */
const pieceAt = (escaped: string, at: number): { readonly begin: number; readonly end: number } => {
  const open = escaped.lastIndexOf('&', at);
  const close = open === -1 ? -1 : escaped.indexOf(';', open);
  if (open !== -1 && open < at && close >= at) return { begin: open, end: close + 1 };
  const isSecondHalf = /^[\uDC00-\uDFFF]/.test(escaped.slice(at, at + 1));
  return isSecondHalf ? { begin: at - 1, end: at + 1 } : { begin: at, end: at };
};
