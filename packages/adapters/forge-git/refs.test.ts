import { describe, expect, it } from 'vitest';
import { isPossibleName, parseForEachRef, parseLsRemote } from './refs.ts';

const a = 'a'.repeat(40);
const b = 'b'.repeat(40);

describe('the refs Git lists', () => {
  it('are parsed byte by byte', () => {
    const output = Buffer.from(`${a} refs/heads/main\n${b} refs/tags/größe/$(x)\n`);
    expect(parseForEachRef(output)).toEqual([
      { ref: { kind: 'branch', name: 'main' }, object: a },
      { ref: { kind: 'tag', name: 'größe/$(x)' }, object: b },
    ]);
  });

  it('are all there or none', () => {
    for (const output of [
      `${a} refs/heads/main`,
      `${a} refs/heads/main\n${b.slice(1)} refs/heads/x\n`,
      'fatal: x\n',
      '\n',
      `${a}\n`,
    ]) {
      expect(() => parseForEachRef(Buffer.from(output)), output).toThrow(expect.objectContaining({ code: 'forge.incomplete' }));
      expect(() => parseLsRemote(Buffer.from(output.replace(' ', '\t'))), output).toThrow(
        expect.objectContaining({ code: 'forge.incomplete' }),
      );
    }
  });

  it('that are not UTF-8 are no sources', () => {
    const output = Buffer.concat([Buffer.from(`${a} refs/heads/x`), Buffer.from([0xff]), Buffer.from(`\n${b} refs/heads/y\n`)]);
    expect(parseForEachRef(output)).toEqual([{ ref: { kind: 'branch', name: 'y' }, object: b }]);
  });

  it('lead annotated tags to what they are about, and say which refs the server could not read', () => {
    const output = Buffer.from(
      `${a}\trefs/heads/main\n${a}\trefs/tags/v1\n${b}\trefs/tags/v1^{}\n${'0'.repeat(40)}\trefs/heads/bad\n${a}\trefs/pull/1/head\n`,
    );
    expect(parseLsRemote(output)).toEqual({
      refs: [
        { ref: { kind: 'branch', name: 'main' }, commit: a },
        { ref: { kind: 'tag', name: 'v1' }, commit: b },
      ],
      broken: [{ kind: 'branch', name: 'bad' }],
    });
  });

  it('have names that Git allows', () => {
    expect(['main', '-rf', 'a/b', 'größe', '$(x)', "'"].every(isPossibleName)).toBe(true);
    expect(['', 'a b', 'a\0', 'a\n', 'a*', 'a?', 'a[', 'a~', 'a^', 'a:', 'a\\', '\ud800'].some(isPossibleName)).toBe(false);
  });
});
