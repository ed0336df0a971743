import type { EnvironmentId } from '@eph/contract';

/**
 * The text of one note: a block per environment between two marker lines, and whatever people wrote around them.
 *
 *     [eph 0123456789abcdef branch:preview/login]
 *     shop-serene-ocean-4207 is ready at http://…
 *     [end 0123456789abcdef]
 *
 * Notes are handled as bytes in latin1: what others wrote need not be UTF-8 and must survive our edits.
 */
const blockPattern = /^\[eph ([0-9a-f]{16}) [^\n]*\]\n(?:[^\n]*\n)*?\[end \1\]\n?/gm;

/** The environments a note speaks of. */
export const parseEnvironments = (note: Buffer): readonly EnvironmentId[] =>
  [...note.toString('latin1').matchAll(blockPattern)].map((match) => match[1] as EnvironmentId);

/** The note with this environment's block put in: in the place of an older one, else at the end. */
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

/** The note without this environment's block; empty when nothing else was in it. */
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
  // A line that looks like a marker is moved out of the way: reports quote strangers.
  const body = bytes(text.replace(/\r\n?/g, '\n').trimEnd()).replace(/^(?= *\[(?:eph|end) )/gm, ' ');
  return `[eph ${environment} ${bytes(title.replace(/\p{C}+/gu, ' '))}]\n${body}\n[end ${environment}]\n`;
};

const joinBlocks = (before: string, block: string): string => {
  if (before === '') return block;
  return `${before.endsWith('\n') ? before : `${before}\n`}\n${block}`;
};

const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
