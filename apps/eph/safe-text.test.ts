import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeJson, safeLine, safeLines, safeLogLine } from './safe-text.ts';

const obeyed = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

describe('untrusted text on a terminal', () => {
  it('shows control characters instead of obeying them', () => {
    expect(safeLine('a\x1b[2Jb')).toBe('a\\x1b[2Jb');
    expect(safeLine('a\r\nb\tc\x07')).toBe('a\\x0d\\x0ab\\x09c\\x07');
    expect(safeLine('\x9b31m')).toBe('\\x9b31m');
  });

  it('shows what would turn the direction of the text', () => {
    expect(safeLine('user\u202etxt.exe')).toBe('user\\u202etxt.exe');
  });

  it('leaves ordinary text of every script alone', () => {
    for (const text of ['preview/login', 'naïve – “quoted”', '機能/ログイン', '👩‍💻 fix', 'שלום'])
      expect(safeLine(text)).toBe(text);
  });

  it('keeps the lines of a message', () => {
    expect(safeLines('one\ntwo\x1b')).toBe('one\ntwo\\x1b');
  });

  it('takes the colours out of a log line and keeps its tabs', () => {
    expect(safeLogLine('\x1b[32mGET\x1b[0m\t200\r')).toBe('GET\t200');
    expect(safeLogLine('progress 10%\rprogress 20%')).toBe('progress 10%\\x0dprogress 20%');
  });

  it('never lets through anything a terminal obeys', () => {
    const nasty = fc.array(
      fc.oneof(fc.constantFrom('\x1b', '[', ']', '\x9b', '\x07', '\u202e', '\r', '\u2028', ';', '?', 'm'), fc.string()),
    );
    fc.assert(
      fc.property(nasty, (parts) => {
        const text = parts.join('');
        expect(safeLine(text)).not.toMatch(obeyed);
        expect(safeLogLine(text).replaceAll('\t', '')).not.toMatch(obeyed);
        expect(safeJson({ text })).not.toMatch(obeyed);
      }),
    );
  });

  it('leaves JSON what it was', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(safeJson(value, 2))).toStrictEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
    expect(safeJson('\x9b\u202e')).toBe('"\\u009b\\u202e"');
  });

  it('copes with long hostile lines', () => {
    for (const piece of ['\x1b[', '\x1b]', '\x1b];', ';', '\x9b', '\x1b[;', '\x1b]0;a'])
      expect(safeLogLine(piece.repeat(100_000))).not.toMatch(obeyed);
  });
});
