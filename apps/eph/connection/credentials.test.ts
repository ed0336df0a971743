import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { type RunningSecretService, secretService, startSecretService } from '../../../test/parts/secret-service.ts';
import { CredentialFiles } from './credential-files.ts';
import { testCredentials } from './credentials.contract.ts';
import { installFakeKeychain } from './keychain.fake.ts';
import { createSecretTool, createSecurity } from './keychain.ts';

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-credentials-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const key = { profile: 'work', origin: 'https://eph.example.com' };
const token = 'eph_a.b.c';

describe('files', () => {
  testCredentials(async () => {
    const folder = await createFolder();
    return { open: () => new CredentialFiles(join(folder, 'eph', 'credentials')) };
  });

  const store = async () => {
    const folder = join(await createFolder(), 'credentials');
    const files = new CredentialFiles(folder);
    await files.write(key, token);
    const [name = ''] = await readdir(folder);
    return { folder, files, path: join(folder, name) };
  };

  it('are for their user alone, also in a folder that was open to others', async () => {
    const { folder, files, path } = await store();
    expect([(await stat(folder)).mode & 0o777, (await stat(path)).mode & 0o777]).toEqual([0o700, 0o600]);
    await chmod(folder, 0o777);
    await files.write(key, token);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readdir(folder)).toHaveLength(1);
  });

  it.each<[string, (path: string) => Promise<unknown>, string]>([
    ['others can read', (path) => chmod(path, 0o640), 'other users may use it. Run `chmod 600 '],
    ['others can write', (path) => chmod(path, 0o602), 'other users may use it'],
    ['is a folder', async (path) => [await rm(path), await mkdir(path)], 'it is not a file'],
    ['is a pipe', async (path) => [await rm(path), spawnSync('/usr/bin/mkfifo', [path])], 'it is not a file'],
    ['is a link', async (path) => [await rename(path, `${path}.else`), await symlink(`${path}.else`, path)], 'it is a link'],
  ])('are refused if one %s', async (_, change, sentence) => {
    const { files, path } = await store();
    await change(path);
    await expect(files.read(key)).rejects.toMatchObject({ code: 'cli.unsafe_file', message: expect.stringContaining(sentence) });
  });

  it('that somebody links are replaced, and what they lead to is not', async () => {
    const { folder, files, path } = await store();
    const other = join(folder, '..', 'other');
    await writeFile(other, 'mine');
    await rm(path);
    await symlink(other, path);
    await files.write(key, token);
    expect(await files.read(key)).toBe(token);
    expect((await stat(other)).size).toBe(4);
  });
});

describe.each([
  ['secret-tool', createSecretTool],
  ['security', createSecurity],
] as const)('%s', (program, open) => {
  testCredentials(async () => {
    const folder = await createFolder();
    await installFakeKeychain(program, folder);
    const variables = { PATH: `${folder}${delimiter}${process.env['PATH']}` };
    return { open: () => open(variables), argumentsIn: join(folder, 'arguments') };
  });

  it('that is not installed, or fails, is not one without tokens', async () => {
    const folder = await createFolder();
    const variables = { PATH: folder };
    const unavailable = (message: string) => ({ code: 'cli.keychain', message: expect.stringContaining(message) });
    await expect(open(variables).read(key)).rejects.toMatchObject(unavailable(`${program} is not installed`));
    await writeFile(join(folder, program), '#!/bin/sh\necho no bus >&2\nexit 1\n', { mode: 0o755 });
    await expect(open(variables).read(key)).rejects.toMatchObject(unavailable('no bus'));
    await expect(open(variables).write(key, token)).rejects.toMatchObject(unavailable('no bus'));
    await expect(open(variables).remove(key)).rejects.toMatchObject(unavailable('no bus'));
  });
});

describe('security', () => {
  it('is not given a token that it would cut', async () => {
    const folder = await createFolder();
    await installFakeKeychain('security', folder);
    const keychain = createSecurity({ PATH: `${folder}${delimiter}${process.env['PATH']}` });
    await expect(keychain.write(key, 'a'.repeat(4_096))).rejects.toThrow('too long');
    expect(await keychain.read(key)).toBeUndefined();
  });
});

describeWith(secretService, 'secret-tool with a real keyring', () => {
  let service: RunningSecretService;
  beforeAll(async () => {
    service = await startSecretService();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  testCredentials(async () => ({ open: () => createSecretTool(service.variables) }));

  it('that does not run is not one without tokens', async () => {
    const keychain = createSecretTool({ ...service.variables, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' });
    await expect(keychain.read(key)).rejects.toMatchObject({ code: 'cli.keychain' });
    await expect(keychain.write(key, token)).rejects.toMatchObject({ code: 'cli.keychain' });
  });
});
