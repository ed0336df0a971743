import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { redact } from '@eph/contract';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ApiToken } from './api-token.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eph-token-'));
  file = join(folder, 'state', 'eph', 'token-7070');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8);
const read = (): string => readFileSync(file, 'utf8').trim();

describe('the token of the API', () => {
  it('is 32 random bytes in a file that only its user can read', () => {
    const token = new ApiToken();
    token.write(file);
    expect(Buffer.from(read(), 'base64url')).toHaveLength(32);
    expect([modeOf(file), modeOf(dirname(file))]).toEqual(['600', '700']);
    expect(readdirSync(dirname(file))).toEqual(['token-7070']);
    expect(token.accepts(read())).toBe(true);
    expect(redact(`it is ${read()}`)).toBe('it is ***');
  });

  it('is another one at each start, and only the newest counts', () => {
    const [first, second] = [new ApiToken(), new ApiToken()];
    first.write(file);
    const old = read();
    second.write(file);
    expect(read()).not.toBe(old);
    expect([second.accepts(old), second.accepts(read())]).toEqual([false, true]);
  });

  it.each(['', 'x', 'é'.repeat(43)])('is not %j', (text) => {
    expect(new ApiToken().accepts(text)).toBe(false);
  });

  it('is removed at the end, unless a later start has replaced it', () => {
    const [first, second] = [new ApiToken(), new ApiToken()];
    const firstFile = first.write(file);
    const secondFile = second.write(file);
    firstFile[Symbol.dispose]();
    expect(second.accepts(read())).toBe(true);
    secondFile[Symbol.dispose]();
    expect(existsSync(file)).toBe(false);
    expect(() => secondFile[Symbol.dispose]()).not.toThrow();
  });

  it('replaces links instead of following them', () => {
    const victim = join(folder, 'victim');
    writeFileSync(victim, 'precious');
    mkdirSync(dirname(file), { recursive: true });
    for (const link of [file, `${file}.new`]) symlinkSync(victim, link);
    const written = new ApiToken().write(file);
    expect([readFileSync(victim, 'utf8'), lstatSync(file).isFile()]).toEqual(['precious', true]);
    rmSync(file);
    symlinkSync(victim, file);
    written[Symbol.dispose]();
    expect(existsSync(victim)).toBe(true);
  });

  it('closes a folder that was open to others', () => {
    mkdirSync(dirname(file), { recursive: true });
    chmodSync(dirname(file), 0o777);
    new ApiToken().write(file);
    expect(modeOf(dirname(file))).toBe('700');
  });

  it('is not written where a link or a file is in the place of the folder', () => {
    mkdirSync(join(folder, 'state'));
    mkdirSync(join(folder, 'elsewhere'));
    symlinkSync(join(folder, 'elsewhere'), dirname(file));
    expect(() => new ApiToken().write(file)).toThrow(/the token of the API cannot be written: .*is a link; XDG_STATE_HOME/);
    expect(readdirSync(join(folder, 'elsewhere'))).toEqual([]);
    rmSync(dirname(file));
    writeFileSync(dirname(file), '');
    expect(() => new ApiToken().write(file)).toThrow('the token of the API cannot be written');
  });
});
