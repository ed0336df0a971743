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
const beginLine = /\[eph ([0-9a-f]{16}) [^\n]*\]\n/y;
const endLine = /\[end ([0-9a-f]{16})\]\n?/y;

interface Block {
  readonly environment: string;
  readonly from: number;
  readonly to: number;
}

/**
 * In one pass over the lines and one over the markers. A regular expression from marker to marker looks for the end of each
 * block through the whole rest, which takes hours for a megabyte of beginnings.
 */
const findBlocks = (text: string): readonly Block[] => {
  const begins: Block[] = [];
  const ends = new Map<string, { next: number; readonly lines: Block[] }>();
  for (let from = 0; from < text.length; from = text.indexOf('\n', from) + 1 || text.length) {
    if (!text.startsWith('[e', from)) continue;
    const begin = matchAt(beginLine, text, from);
    const end = begin === undefined ? matchAt(endLine, text, from) : undefined;
    if (begin !== undefined) begins.push(begin);
    if (end === undefined) continue;
    const others = ends.get(end.environment) ?? { next: 0, lines: [] };
    others.lines.push(end);
    ends.set(end.environment, others);
  }
  const blocks: Block[] = [];
  for (const { environment, from, to } of begins) {
    if (from < (blocks.at(-1)?.to ?? 0)) continue;
    const candidates = ends.get(environment);
    if (candidates === undefined) continue;
    while ((candidates.lines[candidates.next]?.from ?? to) < to) candidates.next += 1;
    const end = candidates.lines[candidates.next];
    if (end !== undefined) blocks.push({ environment, from, to: end.to });
  }
  return blocks;
};

const matchAt = (line: RegExp, text: string, from: number): Block | undefined => {
  line.lastIndex = from;
  const match = line.exec(text);
  return match === null ? undefined : { environment: match[1] ?? '', from, to: from + match[0].length };
};

const replaceBlocks = (text: string, environment: EnvironmentId, replacement: () => string): string => {
  const parts: string[] = [];
  let copied = 0;
  for (const block of findBlocks(text)) {
    if (block.environment !== environment) continue;
    parts.push(text.slice(copied, block.from), replacement());
    copied = block.to;
  }
  return parts.join('') + text.slice(copied);
};

export const parseEnvironments = (note: Buffer): readonly EnvironmentId[] =>
  findBlocks(note.toString('latin1')).map(({ environment }) => environment as EnvironmentId);

/** Replaces the environment's block, or appends it. */
export const withBlock = (note: Buffer, environment: EnvironmentId, title: string, text: string): Buffer => {
  const before = note.toString('latin1');
  const block = formatBlock(environment, title, text);
  let found = false;
  const replaced = replaceBlocks(before, environment, () => {
    const first = !found;
    found = true;
    return first ? block : '';
  });
  return Buffer.from(found ? replaced : joinBlocks(before, block), 'latin1');
};

/** Removes the environment's block; empty if nothing else is left. */
export const withoutBlock = (note: Buffer, environment: EnvironmentId): Buffer => {
  const rest = replaceBlocks(note.toString('latin1'), environment, () => '')
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
