import type { EnvironmentId } from '@eph/contract';

/**
 * The text of one note: a block per environment between two marker lines, and text of others around them.
 *
 *     [eph 0123456789abcdef branch:preview/login]
 *     shop-serene-ocean-4207 is ready at http://…
 *     [end 0123456789abcdef]
 *
 * Handled as latin1 bytes: the text of others need not be UTF-8 and must survive our edits.
 */
const blockPattern = /^\[eph ([0-9a-f]{16}) [^\n]*\]\n(?:[^\n]*\n)*?\[end \1\]\n?/gm;

export const parseEnvironments = (note: Buffer): readonly EnvironmentId[] =>
  [...note.toString('latin1').matchAll(blockPattern)].map((match) => match[1] as EnvironmentId);

/** Replaces the environment's block, or appends it. */
export const withBlock = (note: Buffer, environment: EnvironmentId, title: string, text: string): Buffer => {
  const before = note.toString('latin1');
  const block = formatBlock(environment, title, text);
  let found = false;
  const replaced = before.replace(blockPattern, (old, id: string) => {
    if (id !== environment) return old;
    const first = !found;
    found = true;
    return first ? block : '';
  });
  return Buffer.from(found ? replaced : joinBlocks(before, block), 'latin1');
};

/** Removes the environment's block; empty if nothing else is left. */
export const withoutBlock = (note: Buffer, environment: EnvironmentId): Buffer => {
  const rest = note
    .toString('latin1')
    .replace(blockPattern, (old, id: string) => (id === environment ? '' : old))
    .replace(/^\n+/, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/\n{2,}$/, '\n');
  return Buffer.from(rest.trim() === '' ? '' : rest, 'latin1');
};

const formatBlock = (environment: EnvironmentId, title: string, text: string): string => {
  // Untrusted lines that look like a marker are indented.
  const body = bytes(text.replace(/\r\n?/g, '\n').trimEnd()).replace(/^(?= *\[(?:eph|end) )/gm, ' ');
  return `[eph ${environment} ${bytes(title.replace(/\p{C}+/gu, ' '))}]\n${body}\n[end ${environment}]\n`;
};

const joinBlocks = (before: string, block: string): string => {
  if (before === '') return block;
  return `${before.endsWith('\n') ? before : `${before}\n`}\n${block}`;
};

const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
