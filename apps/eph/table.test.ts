import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { displayWidth, fitToWidth } from './display-width.ts';
import { Output } from './output.ts';
import { type Cell, type Column, renderTable } from './table.ts';
import { FakeStream } from './terminal.fake.ts';

const columns: readonly Column[] = [{ title: 'NAME' }, { title: 'AGE', align: 'right' }, { title: 'NOTE', shrinks: true }];
const rows: readonly (readonly Cell[])[] = [
  ['a', '3m', 'short'],
  ['a-longer-name', '12h', { text: 'a note that goes on for quite a while', style: 'good' }],
];

const output = (options: { isTTY?: boolean; columns?: number } = {}, variables = {}): Output =>
  new Output(new FakeStream(options), variables);

describe('a table', () => {
  it('lines columns up and ends no line with spaces', () => {
    expect(renderTable(output(), columns, rows)).toStrictEqual([
      'NAME           AGE  NOTE',
      'a               3m  short',
      'a-longer-name  12h  a note that goes on for quite a while',
    ]);
    expect(renderTable(output(), columns, [['a', '', '']])).toStrictEqual(['NAME  AGE  NOTE', 'a']);
  });

  it('has colour on a terminal only, and not there either when the person objects', () => {
    const coloured = renderTable(output({ isTTY: true }), columns, rows);
    expect(coloured.join('')).toContain('\x1b[32m');
    expect(coloured.map(stripVTControlCharacters)).toStrictEqual(renderTable(output(), columns, rows));
    for (const variables of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
      expect(renderTable(output({ isTTY: true }, variables), columns, rows).join('')).not.toContain('\x1b');
  });

  it('fits into the terminal by cutting only what may be cut', () => {
    const [, , wide] = renderTable(output({ isTTY: true, columns: 36 }, { NO_COLOR: '1' }), columns, rows);
    expect(wide).toBe('a-longer-name  12h  a note that goe…');
    const [, , narrow] = renderTable(output({ isTTY: true, columns: 10 }, { NO_COLOR: '1' }), columns, rows);
    expect(narrow).toBe('a-longer-name  12h  a note that…');
  });

  it('keeps a hostile cell in its row', () => {
    const lines = renderTable(output({ isTTY: true }, { NO_COLOR: '1' }), columns, [['evil\n\x1b[2J', '1s', 'x']]);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toBe('evil\\x0a\\x1b[2J   1s  x');
  });

  it('knows how wide other scripts are', () => {
    expect(displayWidth('機能')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('👩‍💻')).toBe(2);
    expect(fitToWidth('機能/ログイン', 8)).toBe('機能/ロ…');
    const [, first, second] = renderTable(
      output(),
      [{ title: 'A' }, { title: 'B' }],
      [
        ['機能', 'x'],
        ['ab', 'x'],
      ],
    );
    expect([first, second]).toStrictEqual(['機能  x', 'ab    x']);
  });
});
