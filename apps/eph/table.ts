import { displayWidth, fitToWidth } from './display-width.ts';
import type { Output, Style } from './output.ts';
import { safeLine } from './safe-text.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** May be cut when the terminal is too narrow. Not for what people copy, such as names and addresses. */
  readonly shrinks?: boolean;
}

export const right = (title: string): Column => ({ title, align: 'right' });
export const shrinking = (title: string): Column => ({ title, shrinks: true });

export type Cell = string | { readonly text: string; readonly style: Style };

const gap = '  ';
const narrowest = 12;

/** Escapes every cell, so that callers need not. */
export const renderTable = (out: Output, titles: readonly (string | Column)[], rows: readonly (readonly Cell[])[]): string[] => {
  const columns = titles.map((title): Column => (typeof title === 'string' ? { title } : title));
  const cells = rows.map((row) => row.map(toSafe));
  const widths = columns.map(({ title }, index) =>
    cells.reduce((widest, row) => Math.max(widest, displayWidth(row[index]?.text ?? '')), title.length),
  );
  shrink(widths, columns, out.columns);
  const title = columns.map((column): StyledText => ({ text: column.title, style: 'faint' }));
  return [title, ...cells].map((row) => renderRow(out, columns, widths, row));
};

interface StyledText {
  readonly text: string;
  readonly style?: Style;
}

const toSafe = (cell: Cell): StyledText =>
  typeof cell === 'string' ? { text: safeLine(cell) } : { text: safeLine(cell.text), style: cell.style };

const renderRow = (out: Output, columns: readonly Column[], widths: readonly number[], row: readonly StyledText[]): string => {
  const last = row.findLastIndex(({ text }) => text !== '');
  return row
    .slice(0, last + 1)
    .map(({ text, style }, index) => {
      const width = widths[index] ?? 0;
      const fitted = fitToWidth(text, width);
      const painted = style === undefined ? fitted : out.paint(style, fitted);
      const padding = ' '.repeat(Math.max(0, width - displayWidth(fitted)));
      if (columns[index]?.align === 'right') return padding + painted;
      return index === last ? painted : painted + padding;
    })
    .join(gap);
};

const shrink = (widths: number[], columns: readonly Column[], available: number | undefined): void => {
  if (available === undefined) return;
  let excess = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1)) - available;
  while (excess > 0) {
    const widest = widths.reduce(
      (best, width, index) => (columns[index]?.shrinks === true && width > (widths[best] ?? 0) ? index : best),
      -1,
    );
    const width = widths[widest];
    if (width === undefined || width <= narrowest) return;
    widths[widest] = width - 1;
    excess -= 1;
  }
};
