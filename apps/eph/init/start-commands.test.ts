import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDockerCommand, parseProcfile } from './start-commands.ts';

describe('a Procfile', () => {
  it('names processes, the one for the web first', () => {
    expect(
      parseProcfile('# hello\nworker: node worker.js\r\nrelease: migrate\n\nweb:  node web.js --port $PORT \nbad line\n'),
    ).toStrictEqual([
      { name: 'web', command: 'node web.js --port $PORT' },
      { name: 'worker', command: 'node worker.js' },
    ]);
  });

  it('gives only what can be written down again', () => {
    expect(parseProcfile('web: a\u0000b\nx: \ufffd\ny: ok')).toStrictEqual([{ name: 'y', command: 'ok' }]);
  });
});

describe('a Dockerfile', () => {
  it.each<[string, string | readonly string[] | undefined]>([
    ['FROM a\nCMD ["node", "x.js"]', ['node', 'x.js']],
    ['FROM a\nCMD node x.js', 'node x.js'],
    ['FROM a\nENTRYPOINT ["node"]\nCMD ["x.js"]', ['node', 'x.js']],
    ['FROM a\nENTRYPOINT ./run.sh\nCMD ["x"]', './run.sh'],
    ['FROM a\nCMD old\nFROM b\ncmd \\\n  new', 'new'],
    ['FROM a', undefined],
    ['CMD []', undefined],
    ['CMD [1]', undefined],
    ['CMD ["\\ud800"]', undefined],
    ['CMD ["a"', '["a"'],
    ['', undefined],
  ])('%j starts %j', (text, expected) => {
    expect(parseDockerCommand(text)).toStrictEqual(expected);
  });
});

it('takes any text without complaint', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      for (const parse of [parseProcfile, parseDockerCommand]) parse(text);
      parseDockerCommand(`CMD ${text}`);
      parseProcfile(`web: ${text}`);
    }),
  );
  // Nothing here takes a second look at every character: a regular expression that does would not end before the test does.
  for (const hostile of ['\\\n'.repeat(30_000), ' '.repeat(60_000), `web:${' '.repeat(60_000)}`, '['.repeat(60_000)]) {
    parseProcfile(hostile);
    parseDockerCommand(`CMD ${hostile}`);
  }
});
