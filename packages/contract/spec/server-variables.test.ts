import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillInParts, findVariables, resolveVariables } from './server-variables.ts';

const server = {
  HOST: { value: 'db.internal', secret: false },
  PASSWORD: { value: 'hunter2-hunter2', secret: true },
  EMPTY: { value: '', secret: true },
  TRICKY: { value: '${PASSWORD} {environment_url} $& $1', secret: false },
};
const values = {
  environment_url: 'http://shop-1.localhost',
  commit_sha: '0123456789abcdef',
  ref_type: 'branch',
  ref_name: 'login',
};
const resolve = (text: string, target: 'value' | 'text' = 'value') => resolveVariables(text, server, values, target);
const failing = (message: string) => expect.objectContaining({ code: 'spec.invalid', message });

describe('a value', () => {
  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['{"a": {}}', '{"a": {}}'],
    ['$HOST $(HOST) $', '$HOST $(HOST) $'],
    ['http://${HOST}:5432/${HOST}', 'http://db.internal:5432/db.internal'],
    ['${NOBODY:-none}', 'none'],
    ['${NOBODY:-}', ''],
    ['${NOBODY:-a:-b $x}', 'a:-b $x'],
    ['${EMPTY:-none}', 'none'],
    ['${EMPTY}', ''],
    ['${HOST:-none}', 'db.internal'],
    ['$${HOST}', '${HOST}'],
    ['$${', '${'],
    ['$$HOST', '$$HOST'],
    ['$$${HOST}', '$${HOST}'],
    ['${environment_url}/x', 'http://shop-1.localhost/x'],
    ['${commit_sha:0:7}', '0123456'],
    ['${HOST:0:2}', 'db'],
    ['${pr_number:-none}', 'none'],
    ['${TRICKY}', '${PASSWORD} {environment_url} $& $1'],
  ])('%j becomes %j', (text, resolved) => {
    expect(resolve(text).text).toBe(resolved);
  });

  it('can be written down without its secrets, and be filled in when it is used', () => {
    const { text, parts } = resolve('${HOST}$${x}:${PASSWORD}@${PASSWORD:0:3}${TRICKY}');
    expect(parts).toContainEqual({ secret: 'PASSWORD' });
    expect(parts).toContainEqual({ secret: 'PASSWORD', slice: { start: 0, length: 3 } });
    expect(JSON.stringify(parts)).not.toContain('hunter2');
    expect(fillInParts(parts, { url: '', secretOf: (name) => (name === 'PASSWORD' ? server.PASSWORD.value : undefined) })).toBe(
      text,
    );
    expect(() => fillInParts(parts, { url: '', secretOf: () => undefined })).toThrow(
      'the secret ${PASSWORD} is not set any more',
    );
  });

  it('keeps the URL of the environment out of what is written down', () => {
    const { text, secret, parts } = resolve('${environment_url}/x');
    expect({ text, secret, parts }).toEqual({ text: 'http://shop-1.localhost/x', secret: false, parts: [{ url: true }, '/x'] });
    expect(fillInParts(parts, { url: 'http://b', secretOf: () => undefined })).toBe('http://b/x');
  });

  it.each([
    ['${PASSWORD}', true],
    ['x${HOST}${PASSWORD:0:1}', true],
    ['${HOST}', false],
    ['${TRICKY}', false],
    ['${EMPTY:-none}', false],
    ['$${PASSWORD}', false],
  ])('%j is secret: %j', (text, secret) => {
    expect(resolve(text).secret).toBe(secret);
  });

  it.each([
    [
      '${PATH}',
      '${PATH} is not a variable that this project may use: it has ${EMPTY}, ${HOST}, ${PASSWORD}, ${TRICKY}; give a default with ${PATH:-default}, or write $${PATH} for the text itself',
    ],
    [
      '${pr_number}',
      '${pr_number} is something that branch "login" does not have; allowed: ${environment_url}, ${commit_sha}, ${ref_type}, ${ref_name}',
    ],
    ['${toString}', '${toString} is unknown; allowed: ${environment_url}, ${commit_sha}, ${ref_type}, ${ref_name}'],
    ['${__proto__}', '${__proto__} is unknown; allowed: ${environment_url}, ${commit_sha}, ${ref_type}, ${ref_name}'],
    ['${HOST', '${HOST is not closed by a }; write ${NAME} or ${NAME:-default}, and $${ for the text ${'],
    ['${NOBODY:-${HOST}}', '${NOBODY:-${HOST}: a default is plain text, without { and without } in it'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => resolve(text)).toThrow(failing(message));
  });

  it('of a project without variables says that there are none', () => {
    expect(() => resolveVariables('${HOST}', {}, {})).toThrow(/the operator has set none for this project/);
  });

  it('reaches nothing of the machine', () => {
    for (const name of Object.keys(process.env).filter((one) => /^[A-Z_][A-Z0-9_]*$/.test(one)))
      expect(() => resolveVariables(`\${${name}}`, {}, {})).toThrow(/may use/);
  });
});

describe('a command', () => {
  it.each([
    ['./warm.sh {environment_url} ${environment_url}', './warm.sh http://shop-1.localhost http://shop-1.localhost'],
    ["awk '{print $1}' {} {{environment_url}} {{.State}} $${x}", "awk '{print $1}' {} {environment_url} {{.State}} ${x}"],
    ['{commit_sha:0:7}${HOST}', '0123456db.internal'],
    ['${TRICKY}', '${PASSWORD} {environment_url} $& $1'],
  ])('%j becomes %j', (text, resolved) => {
    expect(resolve(text, 'text').text).toBe(resolved);
  });
});

describe('the variables of a text', () => {
  it('are those of the server, each once', () => {
    expect(findVariables('${A} ${B:-x} ${A} $${C} ${environment_url} $D')).toEqual(['A', 'B']);
    expect(findVariables('no such {A} thing')).toEqual([]);
    expect(findVariables('${A} ${')).toEqual([]);
  });
});

describe('what is put in', () => {
  it('is never looked at again', () => {
    const part = fc.constantFrom('$', '{', '}', '${', 'A', 'environment_url', ':-', '$${', 'x');
    const value = fc.string({ unit: part, maxLength: 20 });
    fc.assert(
      fc.property(value, value, value, (a, url, fallback) => {
        const plain = fallback.replaceAll(/[{}]/g, '');
        const put = resolveVariables(
          `<\${A}|\${environment_url}|\${B:-${plain}}>`,
          { A: { value: a, secret: false } },
          { environment_url: url },
        );
        expect(put.text).toBe(`<${a}|${url}|${plain}>`);
      }),
    );
  });
});
