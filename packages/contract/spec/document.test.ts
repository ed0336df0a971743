import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type DocumentForm, type ParsedDocument, parseDocument, printFault } from './document.ts';

const schema = z.strictObject({
  name: z.string().optional(),
  values: z.record(z.string(), z.unknown()).optional(),
  list: z.array(z.strictObject({ at: z.number() })).optional(),
});

const form: DocumentForm<typeof schema> = {
  schema,
  limitBytes: 1000,
  empty: 'the file is empty; it needs a name',
  verbatim: [
    ['values', 'kept'],
    ['values', 'each', '*', 'kept'],
  ],
};

const parse = (text: string, given: Partial<DocumentForm<typeof schema>> = {}): ParsedDocument<z.output<typeof schema>> =>
  parseDocument(new TextEncoder().encode(text), 'some.yaml', { ...form, ...given });

const faultsOf = (parsed: ParsedDocument<unknown>): readonly string[] => (parsed.ok ? [] : parsed.faults.map(printFault));

describe('a file of any kind', () => {
  it('is read into the value that its schema makes of it', () => {
    expect(parse('name: x\nlist: [{ at: 1 }]\n')).toMatchObject({
      ok: true,
      value: { name: 'x', list: [{ at: 1 }] },
      notices: [],
    });
  });

  it('is refused with the name of the file, the place and the path', () => {
    expect(faultsOf(parse('nam: x\nlist:\n  - { at: one }\n'))).toEqual([
      'some.yaml:1:1: nam: unknown key; did you mean "name"?',
      'some.yaml:3:7: list.0.at: must be a number',
    ]);
  });

  it.each([
    ['too large', 'x'.repeat(1001), 'some.yaml:1:1: the file has 1001 bytes; at most 1000 are read'],
    ['empty', '', 'some.yaml:1:1: the file is empty; it needs a name'],
    ['nothing but a comment', '# soon\n', 'some.yaml:1:1: the file is empty; it needs a name'],
  ])('that is %s is refused in the words of its kind', (_, text, fault) => {
    expect(faultsOf(parse(text))).toEqual([fault]);
  });

  it('that is YAML and nothing more still shows its plain value', () => {
    expect(parse('other: [1]\n')).toMatchObject({ ok: false, raw: { other: [1] } });
    expect(parse('name: [\n')).not.toHaveProperty('raw');
  });

  it('points at the key inside a list or map that belongs where another key is', () => {
    expect(faultsOf(parse('at: 1\n'))).toEqual(['some.yaml:1:1: at: unknown key; allowed here: name, values, list']);
  });
});

describe('values that stay as they were written', () => {
  it('are those below the named paths, however deep', () => {
    const parsed = parse(
      'values:\n  kept: { a: 1.0, b: [0x10, true], c: null }\n  each: { x: { kept: 08, other: 08 } }\n  other: 1.0\n',
    );
    expect(parsed.ok && parsed.value.values).toEqual({
      kept: { a: '1.0', b: ['0x10', 'true'], c: null },
      each: { x: { kept: '08', other: 8 } },
      other: 1,
    });
  });
});

describe('places', () => {
  const places = (text: string) => {
    const parsed = parse(text);
    if (!parsed.ok) throw new Error(faultsOf(parsed).join('\n'));
    return parsed.places;
  };
  const text = 'name: x\nvalues:\n  a: &a { b: 1 }\n  c: *a\n  "quoted": {}\n  5: 6\nlist:\n  - at: 1\n  - at: 2\n';

  it.each([
    [['name'], 1, 1],
    [['values', 'a', 'b'], 3, 11],
    [['values', 'quoted'], 5, 3],
    [['values', '5'], 6, 3],
    [['list', 1], 9, 5],
    [['list', 1, 'at'], 9, 5],
    [['list', '1', 'at'], 9, 5],
    [[], 1, 1],
  ])('of %j are those of the key', (path, line, column) => {
    expect(places(text).at(path)).toEqual({ line, column });
  });

  it('of what an alias stands for are where it is written', () => {
    expect(places(text).at(['values', 'c'])).toEqual({ line: 4, column: 3 });
    expect(places(text).at(['values', 'c', 'b'])).toEqual({ line: 3, column: 11 });
  });

  it.each([[['other']], [['name', 'x']], [['list', 2]], [['list', 'x']], [['values', 'a', 'constructor']], [['__proto__']]])(
    'of %j are nowhere',
    (path) => {
      expect(places(text).at(path)).toBeUndefined();
    },
  );

  it('name the file', () => {
    expect(places(text).file).toBe('some.yaml');
  });

  it('are the same with a byte order mark and lines that end as on Windows', () => {
    expect(places(text.replaceAll('\n', '\r\n')).at(['list', 1, 'at'])).toEqual({ line: 9, column: 5 });
    expect(places(`\ufeff${text}`).at(['name'])).toEqual({ line: 1, column: 1 });
  });
});

describe('remarks about a sound file', () => {
  it('become notices with the place of their key', () => {
    const remarks = (raw: unknown) => [{ path: ['list', 0, 'at'], message: `says ${JSON.stringify(raw)}` }];
    expect(parse('list:\n  - at: 1\n', { remarks })).toMatchObject({
      notices: [{ path: 'list.0.at', line: 2, column: 5, message: 'says {"list":[{"at":1}]}' }],
    });
    expect(parse('list: 1\n', { remarks })).not.toHaveProperty('notices');
  });
});
