import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, constants, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { EphError, registerSecret } from '@eph/contract';

/** What clients of the API prove with that they run as the user of ephd: they can read the file. */
export class ApiToken {
  readonly #value = randomBytes(32).toString('base64url');

  constructor() {
    registerSecret(this.#value);
  }

  accepts(text: string): boolean {
    const given = Buffer.from(text);
    const value = Buffer.from(this.#value);
    return given.length === value.length && timingSafeEqual(given, value);
  }

  /** Replaces the file of an earlier start. Disposing removes it, unless a later start has replaced it. */
  write(file: string): Disposable {
    const folder = dirname(file);
    const fresh = `${file}.new`;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is a link`);
      chmodSync(folder, 0o700);
      rmSync(fresh, { force: true });
      // Neither `wx` nor `renameSync` follows a link.
      writeFileSync(fresh, `${this.#value}\n`, { flag: 'wx', mode: 0o600 });
      renameSync(fresh, file);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new EphError(
        'config.invalid',
        `the token of the API cannot be written: ${why}; XDG_STATE_HOME can name another folder`,
        {
          cause: error,
        },
      );
    }
    return { [Symbol.dispose]: () => this.#remove(file) };
  }

  #remove(file: string): void {
    try {
      if (readFileSync(file, { encoding: 'utf8', flag: constants.O_NOFOLLOW | constants.O_NONBLOCK }).trim() === this.#value)
        rmSync(file);
    } catch {
      // Whatever is left there is worth nothing once this process has ended.
    }
  }
}
