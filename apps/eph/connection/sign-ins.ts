import { CommandFailure } from '../command-failure.ts';
import { parseServer, printServer, toReached } from '../server-address.ts';
import { CredentialFiles } from './credential-files.ts';
import type { CredentialKey, Credentials } from './credentials.ts';
import { chooseKeychain } from './keychain.ts';
import { configFolder, type Profile, type Profiles, readProfiles, writeProfiles } from './profiles.ts';

type Variables = Readonly<Record<string, string | undefined>>;

export interface Stored {
  /** For people. */
  readonly place: string;
  /** Why it is not in the keychain. */
  readonly because: string | undefined;
}

/** The profiles of this user, and the token of each. */
export class SignIns {
  readonly #folder: string | undefined;
  readonly #keychain: Credentials | undefined;

  constructor(variables: Variables) {
    this.#folder = configFolder(variables);
    this.#keychain = chooseKeychain(process.platform, variables);
  }

  profiles(): Promise<Profiles> {
    return readProfiles(this.#folder);
  }

  /** Where the token of a profile is, and what it is. */
  async readToken(name: string, profile: Profile): Promise<{ readonly place: string; readonly token: string | undefined }> {
    const credentials = this.#credentialsOf(profile);
    return { place: credentials.place, token: await credentials.read(keyOf(name, profile)) };
  }

  /** It is the current one from now on. */
  async store(name: string, server: URL, token: string): Promise<Stored> {
    const { all } = await this.profiles();
    const plain = new URL(server);
    plain.username = '';
    plain.password = '';
    const fileProfile: Profile = { server: printServer(plain), tokenIn: 'file' };
    const keychainProfile: Profile = { ...fileProfile, tokenIn: 'keychain' };
    const because = await this.#tryKeychain(keyOf(name, keychainProfile), token);
    const profile = because === undefined ? keychainProfile : fileProfile;
    if (because !== undefined) await this.#files().write(keyOf(name, profile), token);
    await writeProfiles(this.#requireFolder(), { current: name, all: new Map([...all, [name, profile]]) });
    const before = all.get(name);
    if (before !== undefined && !(before.tokenIn === profile.tokenIn && before.server === profile.server))
      await this.#removeToken(name, before);
    return { place: this.#credentialsOf(profile).place, because };
  }

  async remove(name: string): Promise<void> {
    const { current, all } = await this.profiles();
    const profile = all.get(name);
    if (profile === undefined) return;
    await this.#credentialsOf(profile).remove(keyOf(name, profile));
    const rest = new Map([...all].filter(([one]) => one !== name));
    await writeProfiles(this.#requireFolder(), { current: current === name ? undefined : current, all: rest });
  }

  async use(name: string): Promise<void> {
    await writeProfiles(this.#requireFolder(), { ...(await this.profiles()), current: name });
  }

  async #tryKeychain(key: CredentialKey, token: string): Promise<string | undefined> {
    if (this.#keychain === undefined) return 'This system has no keychain that eph can use.';
    try {
      await this.#keychain.write(key, token);
      return undefined;
    } catch (error) {
      if (error instanceof CommandFailure) return error.message;
      throw error;
    }
  }

  async #removeToken(name: string, profile: Profile): Promise<void> {
    try {
      await this.#credentialsOf(profile).remove(keyOf(name, profile));
    } catch (error) {
      // The new token is stored. That the old one is left somewhere else must not look like a failed login.
      if (!(error instanceof CommandFailure)) throw error;
    }
  }

  #credentialsOf({ tokenIn }: Profile): Credentials {
    if (tokenIn === 'file') return this.#files();
    if (this.#keychain !== undefined) return this.#keychain;
    throw new CommandFailure('cli.keychain', 'The token is in a keychain, and this system has none that eph can use.');
  }

  #files(): Credentials {
    return new CredentialFiles(`${this.#requireFolder()}/credentials`);
  }

  #requireFolder(): string {
    if (this.#folder !== undefined) return this.#folder;
    throw new CommandFailure('cli.config', 'Neither HOME nor XDG_CONFIG_HOME says where eph may store its configuration.');
  }
}

export const originOf = ({ server }: Profile): string => toReached(parseServer(server)).origin;

const keyOf = (profile: string, given: Profile): CredentialKey => ({ profile, origin: originOf(given) });
