/**
 * Names, messages and log lines are untrusted. Printed unchanged, they could move the cursor, overwrite other lines or reverse the
 * direction of the text. Escaped, they are only text.
 */
const unsafe = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Only colours, in linear time: Node's `stripVTControlCharacters` is quadratic and takes minutes for a hostile line of 300 KB. */
const colour = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;:]*m`, 'g');

const escape = (character: string): string => {
  const code = character.charCodeAt(0);
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, '0')}` : jsonEscape(character);
};

const jsonEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

export const safeLine = (text: string): string => text.toWellFormed().replace(unsafe, escape);

export const safeLines = (text: string): string => text.split('\n').map(safeLine).join('\n');

/** Removes colours, which are usual in logs, and escapes everything else. */
export const safeLogLine = (line: string): string =>
  line
    .replace(colour, '')
    .replace(/\r$/, '')
    .toWellFormed()
    .replace(unsafe, (character) => (character === '\t' ? character : escape(character)));

/** `JSON.stringify` does not escape DEL, C1 and direction controls, which terminals interpret. Its strings contain no line breaks. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(unsafe, (character) => (character === '\n' ? character : jsonEscape(character)));
