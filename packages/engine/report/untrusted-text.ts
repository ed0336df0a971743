/**
 * What strangers wrote, made fit to stand in a comment: names of branches and labels, messages, output of their programs.
 *
 * Everything that could mean something becomes a character reference, which Markdown never takes for structure. Forges then look
 * once more at what Markdown made of it, for people to notify and things to link; a space of no width keeps them from finding any.
 */

const zeroWidthSpace = '&#8203;';

/** Where forges see people, issues, addresses and emoji in text that is already rendered. */
const reference = /@|[#!$%&~^](?=["\p{L}\d_]|$)|:(?=\/\/|[\w+-]+:)|(?<=ww)w(?=\.)|(?<=gh)-(?=\d)/u;
/** What means something only where a line begins: lists, underlines of headings, commands and fences of GitLab. */
const beginning = /(?<=^ ?)[-+=/:]|(?<=^ ?\d{1,9})[.)]/u;
/** What Markdown, HTML or formulas give a meaning to anywhere. */
const meaningful = /[\\`*_{}[\]<>#|~&$^]/u;

const special = new RegExp(`(${reference.source})|${beginning.source}|${meaningful.source}`, 'giu');

/** One line of somebody's text among our own words, in at most so many characters. */
export const inlineText = (text: string, limit: number): string => {
  const escaped = escapeLine(text.slice(0, limit * 2)).trim();
  const isWhole = escaped.length <= limit && text.length <= limit * 2;
  return isWhole ? escaped : `${escaped.slice(0, pieceAt(escaped, limit - 1).begin)}…`;
};

/** The same without a limit, spaces around it included. */
export const escapeLine = (text: string): string =>
  stripControls(text)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(special, (character, refers: string | undefined) =>
      refers === undefined ? entity(character) : `${entity(character)}${zeroWidthSpace}`,
    );

/** Texts that were escaped apart: together they must not make what none of them is. */
export const joinEscaped = (left: string, right: string): string =>
  /\S$/.test(left) && /^[\w/:+&-]/.test(right) ? `${left}${zeroWidthSpace}${right}` : `${left}${right}`;

/**
 * Lines of somebody's output, to stand between `<pre>` and `</pre>`, in at most so many characters. A fence of backticks would do
 * for Markdown, but not for whoever searches the raw text: GitLab for its commands, reporters for their markers.
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

/** A long text without its middle: how output begins says what ran, how it ends says why it stopped. */
export const truncateMiddle = (text: string, limit: number): string => {
  if (text.length <= limit) return text;
  const share = limit - omission.length;
  const head = Math.floor(share / 4);
  return `${text.slice(0, head)}${omission}${text.slice(text.length - (share - head))}`;
};

/** What follows does not begin a line, so that it cannot become a command by being cut off there. */
const omission = '\n… part of it is left out …\n… ';

/** With bounds: Node's own function takes seconds over a log made for it. */
const terminalSequences = new RegExp(
  String.raw`\x1b(?:\[[\d;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|[@-Z\\^_])`,
  'g',
);

/** Without colours of terminals, and without characters that are not seen, turn the direction of reading, or are none. */
export const stripControls = (text: string): string =>
  text
    .replaceAll(terminalSequences, '')
    .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    // The two joiners belong to several scripts and to emoji.
    .replaceAll(/(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD');

/** A link; only its label where the address is none. */
export const link = (label: string, address: string): string => {
  const target = safeAddress(address);
  return target === undefined ? label : `[${label}](<${target}>)`;
};

/** The address itself, to click and to copy. */
export const linkedAddress = (address: string): string => {
  const target = safeAddress(address);
  return target === undefined ? inlineText(address, 300) : `<${target}>`;
};

const addressLimit = 1_000;

const safeAddress = (address: string): string | undefined => {
  if (address.length > addressLimit || !URL.canParse(address)) return undefined;
  const { protocol, username, password, hostname, origin, pathname, search, hash } = new URL(address);
  if ((protocol !== 'https:' && protocol !== 'http:') || username !== '' || password !== '') return undefined;
  // To a parser of addresses, backticks and parentheses are part of a host.
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])$/.test(hostname)) return undefined;
  const path = `${pathname}${search}${hash}`.replaceAll(/[^\w\-.~:/?#!$&+,;=%]/g, percentEncode).replaceAll('&', '&amp;');
  const target = path === '/' ? origin : `${origin}${path}`;
  return target.length > addressLimit ? undefined : target;
};

/** A parsed address holds nothing beyond ASCII. */
const percentEncode = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const entity = (character: string): string => named[character] ?? `&#${character.charCodeAt(0)};`;

/** The character or reference that a cut here would take apart; a place between two is where one ends and begins. */
const pieceAt = (escaped: string, at: number): { readonly begin: number; readonly end: number } => {
  const open = escaped.lastIndexOf('&', at);
  const close = open === -1 ? -1 : escaped.indexOf(';', open);
  if (open !== -1 && open < at && close >= at) return { begin: open, end: close + 1 };
  const isSecondHalf = /^[\uDC00-\uDFFF]/.test(escaped.slice(at, at + 1));
  return isSecondHalf ? { begin: at - 1, end: at + 1 } : { begin: at, end: at };
};
