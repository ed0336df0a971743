import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CredentialKey, Credentials } from './credentials.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** A file for each token, so that two commands at the same time lose none. */
export class CredentialFiles implements Credentials {
  readonly place: string;

  constructor(folder: string) {
    this.place = folder;
  }

  async read(key: CredentialKey): Promise<string | undefined> {
    return (await readPrivateFile(this.#path(key)))?.trim() || undefined;
  }

  write(key: CredentialKey, token: string): Promise<void> {
    return writePrivateFile(this.#path(key), `${token}\n`);
  }

  remove(key: CredentialKey): Promise<void> {
    return rm(this.#path(key), { force: true });
  }

  /** Neither part has a space after this, so no two keys have the same name. */
  #path({ profile, origin }: CredentialKey): string {
    return join(this.place, [profile, origin].map(encodeURIComponent).join(' '));
  }
}
