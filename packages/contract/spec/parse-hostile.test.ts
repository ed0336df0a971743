import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fault, printFault } from './document.ts';
import { describeParsing, expectOrderly } from './parse.contract.ts';
import { parseSpec, specLimitBytes } from './parse.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const firstFault = (bytes: Uint8Array): string => {
  const parsed = parseSpec(bytes);
  expectOrderly(parsed, bytes);
  return parsed.ok ? 'none' : printFault(parsed.faults[0] as Fault);
};

const valid = `version: "1.0"
name: shop
triggers:
  - type: git_branch
    patterns: ["preview/**", main]
environment:
  name_template: "{project}-{words}-{number}"
  env: &common { REGION: eu, PORTS: 8080 }
process:
  services:
    web:
      command: [node, server.js]
      env: { API: outputs/api/url }
      ready: { http: /healthz, timeout: 30s }
      entry: true
    api:
      command: |
        set -e
        run api
      env: *common
      depends_on: [] # nobody
`;

/** Repeats a piece until the file is as large as may be. */
const fill = (piece: string): Uint8Array => encode(piece.repeat(Math.floor((specLimitBytes - 64) / encode(piece).byteLength)));

const nest = (line: string, indentation: number): string =>
  Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth * indentation)}${line}\n`).join('');

describe('any bytes', () => {
  const marks = `[ ] { } : - ? , &a *a ! !!str " ' | > # % --- ... <<: __proto__: name: process: env: ~ null 1.0 .inf @ \\`.split(
    ' ',
  );
  const structure = fc.constantFrom(
    ...marks,
    ...marks.map((mark) => `${mark} `),
    '\n',
    '  ',
    '\t',
    '\0',
    '\u2028',
    '\ufeff',
    '9'.repeat(400),
  );
  const bytes = fc.uint8Array({ maxLength: 400 });
  const text = fc
    .array(fc.oneof(structure, fc.string({ unit: 'grapheme', maxLength: 8 })), { maxLength: 60 })
    .map((parts) => encode(parts.join('')));
  /** The valid file after a few slips: something cut out, doubled, or typed in the wrong place. */
  const edit = fc.record({
    at: fc.nat(valid.length),
    length: fc.nat(12),
    insert: fc.oneof(fc.constant(''), structure, fc.string({ maxLength: 4 })),
    twice: fc.boolean(),
  });
  const mutation = fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) =>
    encode(
      edits.reduce((document, { at, length, insert, twice }) => {
        const cut = document.slice(at, at + length);
        return document.slice(0, at) + (twice ? cut + cut : insert) + document.slice(at + length);
      }, valid),
    ),
  );

  it('start from a file that is sound', () => {
    expect(parseSpec(encode(valid))).toMatchObject({ ok: true });
  });

  describeParsing('files of random bytes', bytes, 2_500);
  describeParsing('files that look like YAML', text, 3_500);
  describeParsing('files with a few slips', mutation, 2_000);
});

// Quick on any machine; the limit of each test is there to notice what would take minutes.
describe('a file made to hurt', { timeout: 15_000 }, () => {
  it.each([
    ['ten megabytes', new Uint8Array(10 * 1024 * 1024).fill(0x61), 'the file has 10485760 bytes; at most 262144 are read'],
    ['bytes that are no UTF-8', Uint8Array.of(0x6e, 0x61, 0xff, 0xfe), 'the file is not valid UTF-8; save it as UTF-8'],
    ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x61, 0x00), 'the file is not valid UTF-8; save it as UTF-8'],
    ['half a character at the end', encode('name: 🚢').slice(0, -1), 'the file is not valid UTF-8; save it as UTF-8'],
  ])('with %s is refused as a whole', (_, bytes, message) => {
    expect(firstFault(bytes)).toBe(`eph.yaml:1:1: ${message}`);
  });

  it.each([
    ['brackets', encode(`a: ${'['.repeat(1000)}`), 'eph.yaml:1:67'],
    ['braces', encode(`a: ${'{b: '.repeat(1000)}`), 'eph.yaml:1:256'],
    ['brackets with closing ones in quotes', encode('["]",'.repeat(1000)), 'eph.yaml:1:321'],
    ['dashes', encode('- '.repeat(1000)), 'eph.yaml:1:129'],
    ['question marks', encode('? '.repeat(1000)), 'eph.yaml:1:129'],
    ['indented keys', encode(nest('a:', 1)), 'eph.yaml:65:65'],
    ['indented dashes', encode(nest('-', 1)), 'eph.yaml:65:65'],
    ['keys far apart', encode(nest('a:', 3)), 'eph.yaml:65:193'],
  ])('with %s nested too deep says where', (_, bytes, place) => {
    expect(firstFault(bytes)).toBe(`${place}: nested more than 64 levels deep`);
  });

  it.each([
    '[',
    '{',
    '["]",',
    '{"}": ',
    '- ',
    '? ',
    ': ',
    'a: ',
    '- a: ',
    '&a ',
    '!a ',
    '*a ',
    '"',
    "' ",
    ']',
    '}\n',
    '[]\n',
    '[a: b, c]\n',
    '---\n',
    '%a\n',
    '?\n',
    'a:\n',
    'a: b\n',
    '<<: *a\n',
    '- "\\x"\n',
    '\n',
    '#\n',
  ])('full of %j is refused at once', (piece) => {
    expect(firstFault(fill(piece))).toBe('eph.yaml:1:1: the file is too complex: it has more than 20000 YAML tokens');
  });

  it.each([' ', '\t', '\r', '#', '%', '&', '|\n', '\\', '9', '1_', '"\n a', "''", '\ufeff', '🚢'])(
    'full of %j is answered',
    (piece) => {
      expect(firstFault(fill(piece))).toMatch(/^eph\.yaml:\d+:\d+: ./);
    },
  );

  it.each(['"', "'"])('with one endless text in %s is answered', (quote) => {
    const lines = 'word\n '.repeat(40_000);
    expect(firstFault(encode(`${quote}${lines}${quote}`))).toBe('eph.yaml:1:1: the file must be a map of keys and values');
  });

  it('whose aliases multiply is refused', () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `k${level}: &k${level} [${level === 0 ? 'x' : `*k${level - 1},`.repeat(8)}]\n`,
    );
    expect(firstFault(encode(levels.join('')))).toBe('eph.yaml:1:1: aliases repeat a part of the file more than 100 times');
  });

  it('with more aliases than anybody needs is refused', () => {
    const services = Array.from({ length: 200 }, (_, index) => `    s${index}: *a\n`).join('');
    const text = `version: "1.0"\nname: shop\nprocess:\n  services:\n    a: &a { command: run }\n${services}`;
    expect(firstFault(encode(text))).toBe('eph.yaml:106:11: process.services.s100: the file uses more than 100 aliases');
  });

  it.each([
    ['a map', 'a: &a\n  b: *a\n'],
    ['a list', 'process: &a [*a]\n'],
    ['variables', 'environment: { env: &a { A: *a } }\n'],
    ['itself', '&a { process: *a, services: *a }\n'],
  ])('that holds itself, as %s, is answered', (_, text) => {
    expect(firstFault(encode(text))).toMatch(/^eph\.yaml:\d+:\d+: ./);
  });

  it('with more services than a machine can run is still read', () => {
    const services = Array.from({ length: 900 }, (_, index) => `    s${index}: { command: run }\n`).join('');
    expect(parseSpec(encode(`version: "1.0"\nname: shop\nprocess:\n  services:\n${services}`))).toMatchObject({ ok: true });
  });
});
