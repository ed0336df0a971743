/**
 * Names, messages and log lines come from repositories and services of strangers. Shown as they are, they could move the cursor,
 * rewrite what stands above, or turn the direction of the text; made visible, they are only text.
 */
const unsafe = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Only colours, and in linear time: `stripVTControlCharacters` of Node is quadratic, minutes for a hostile line of 300 KB. */
const colour = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;:]*m`, 'g');

const escape = (character: string): string => {
  const code = character.charCodeAt(0);
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : jsonEscape(character);
};

const jsonEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** For a cell or a sentence: stays on one line. */
export const safeLine = (text: string): string => text.toWellFormed().replace(unsafe, escape);

/** For messages that may have several lines. */
export const safeLines = (text: string): string => text.split('\n').map(safeLine).join('\n');

/** Services colour their logs; the colours go without a trace, everything else stays visible. */
export const safeLogLine = (line: string): string =>
  line
    .replace(colour, '')
    .replace(/\r$/, '')
    .toWellFormed()
    .replace(unsafe, (character) => (character === '\t' ? character : escape(character)));

/** JSON leaves DEL, C1 and direction controls as they are, and a terminal obeys them. The line breaks are ours: strings hold none. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unsafe, (character) => (character === '\n' ? character : jsonEscape(character)));
