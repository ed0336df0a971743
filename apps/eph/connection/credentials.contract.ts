import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CredentialKey, Credentials } from './credentials.ts';

const key: CredentialKey = { profile: 'work', origin: 'https://eph.example.com' };
const token = `eph_${'a'.repeat(400)}.b-_.c`;

export interface CredentialsHarness {
  /** Each time as a new process would. */
  readonly open: () => Credentials;
  /** A folder where a fake program writes the arguments that it got. */
  readonly argumentsIn?: string;
}

/** What every place for tokens does; see `credentials.ts`. */
export const testCredentials = (create: () => Promise<CredentialsHarness>): void => {
  it('has no token at first, and removes what is not there', async () => {
    const { open } = await create();
    expect(await open().read(key)).toBeUndefined();
    await open().remove(key);
    expect(await open().read(key)).toBeUndefined();
  });

  it('keeps a token until it is replaced or removed', async () => {
    const { open } = await create();
    await open().write(key, token);
    expect(await open().read(key)).toBe(token);
    await open().write(key, `${token}2`);
    expect(await open().read(key)).toBe(`${token}2`);
    await open().remove(key);
    await open().remove(key);
    expect(await open().read(key)).toBeUndefined();
  });

  it('gives no key the token of another one', async () => {
    const { open } = await create();
    const others: readonly CredentialKey[] = [
      { ...key, profile: 'home' },
      { ...key, origin: 'http://eph.example.com' },
      { ...key, origin: 'https://eph.example.com:8443' },
      { ...key, origin: 'https://eph.example.com.evil.org' },
    ];
    await open().write(key, token);
    for (const other of others) expect(await open().read(other)).toBeUndefined();
    for (const [index, other] of others.entries()) await open().write(other, `${token}${index}`);
    for (const [index, other] of others.entries()) expect(await open().read(other)).toBe(`${token}${index}`);
    for (const other of others) await open().remove(other);
    expect(await open().read(key)).toBe(token);
    await open().remove(key);
  });

  it('passes no token as an argument', async () => {
    const { open, argumentsIn } = await create();
    await open().write(key, token);
    await open().read(key);
    await open().remove(key);
    const written = argumentsIn === undefined ? [] : await readdir(argumentsIn);
    const seen = await Promise.all(written.map((file) => readFile(join(argumentsIn ?? '', file), 'utf8')));
    expect(seen.join('\n')).not.toContain(token);
  });
};
