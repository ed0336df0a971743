import { displayWidth } from './display-width.ts';
import { safeLine } from './safe-text.ts';

/** Wide enough for lines written by hand. */
const widest = 160;
/** Of a long line, this much is shown before the column. */
const before = 60;

/** A line with a caret under the column, both counted from 1. Empty if there is no such line, as at the end of a cut file. */
export const excerpt = (lines: readonly string[], line: number, column: number): readonly string[] => {
  const source = lines[line - 1];
  if (source === undefined || source.trim() === '') return [];
  const start = source.length > widest ? Math.max(0, column - 1 - before) : 0;
  const shown = (from: number, to: number): string => safeLine(source.slice(from, to).replaceAll('\t', ' '));
  const lead = start > 0 ? '…' : '';
  const rest = start + widest < source.length ? '…' : '';
  const number = String(line);
  const indent = ' '.repeat(displayWidth(lead + shown(start, Math.min(column - 1, source.length))));
  return [`  ${number} | ${lead}${shown(start, start + widest)}${rest}`, `  ${' '.repeat(number.length)} | ${indent}^`];
};

export const splitLines = (bytes: Uint8Array): readonly string[] => new TextDecoder().decode(bytes).split(/\r?\n/);
