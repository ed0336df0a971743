import { randomBytes, sign, verify } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { redact } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Keys, parseKeys, readKeysFile } from './keys.ts';

const newKey = (): string => randomBytes(32).toString('base64');

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-keys-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

const parse = (text: string): Keys => {
  const keys = parseKeys(text);
  if (keys === undefined) throw new Error('not keys');
  return keys;
};

const accepts = (keys: Keys, { signing }: Keys): boolean => {
  const key = keys.verifying.get(signing.id);
  return key !== undefined && verify(null, Buffer.from('text'), key, sign(null, Buffer.from('text'), signing.key));
};

describe('keys of a secret', () => {
  it('are one or two: the first signs, and both verify', () => {
    const [first, second] = [newKey(), newKey()];
    const both = parse(`${first} ${second}\n`);
    expect(both.signing.id).toBe(parse(first).signing.id);
    expect([...both.verifying.keys()]).toEqual([parse(first).signing.id, parse(second).signing.id]);
    expect([first, second].map((key) => accepts(both, parse(key)))).toEqual([true, true]);
    expect(accepts(parse(second), parse(first))).toBe(false);
  });

  it('may be written with the other alphabet of Base64, without padding, and with a comma', () => {
    const [first, second] = [newKey(), newKey()];
    const plain = [first, second].map((key) => Buffer.from(key, 'base64').toString('base64url')).join(',');
    expect([...parse(plain).verifying.keys()]).toEqual([...parse(`${first} ${second}`).verifying.keys()]);
  });

  it('are redacted, each of them', () => {
    const [first, second] = [newKey(), newKey()];
    parse(`${first} ${second}`);
    expect(redact(`a ${first} b ${second}`)).toBe('a *** b ***');
  });
});

describe('keys of the data folder', () => {
  it('are made once, and only their user can read them', async () => {
    const path = join(await createFolder(), 'access', 'keys.json');
    const made = await readKeysFile(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(path, '..'))).toEqual(['keys.json']);
    await chmod(path, 0o644);
    const read = await readKeysFile(path);
    expect(accepts(read, made)).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const { keys } = JSON.parse(await readFile(path, 'utf8')) as { keys: readonly string[] };
    expect(keys).toHaveLength(1);
  });

  it('are rotated by a new one in front', async () => {
    const path = join(await createFolder(), 'keys.json');
    const before = await readKeysFile(path);
    const { keys } = JSON.parse(await readFile(path, 'utf8')) as { keys: readonly string[] };
    await writeFile(path, JSON.stringify({ keys: [newKey(), ...keys] }));
    const after = await readKeysFile(path);
    expect(after.signing.id).not.toBe(before.signing.id);
    expect(accepts(after, before)).toBe(true);
  });

  it.each(['', 'null', '{', '[]', '{"keys":[]}', '{"keys":["short"]}', '{"keys":[7]}', '{"keys":["a"],"more":1}'])(
    'are not made again where the file is %j',
    async (content) => {
      const path = join(await createFolder(), 'keys.json');
      await writeFile(path, content);
      await expect(readKeysFile(path)).rejects.toThrow(/repair it, or delete it and start ephd again, which ends all tokens/);
      expect(await readFile(path, 'utf8')).toBe(content);
    },
  );

  it('are not written through a link that somebody has put there', async () => {
    const folder = await createFolder();
    await symlink(join(folder, 'elsewhere'), join(folder, 'keys.json.new'));
    await expect(readKeysFile(join(folder, 'keys.json'))).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await readdir(folder)).toEqual(['keys.json.new']);
  });
});
