/** Whose token it is. A token is given only to the server that it was stored for, so the server is a part of the key. */
export interface CredentialKey {
  readonly profile: string;
  /** Scheme, host and port. */
  readonly origin: string;
}

/**
 * Where tokens of people are kept.
 *
 * Contract
 * - A token that was written is read again, by any later process of the same user, until it is removed or replaced.
 * - Keys that differ in anything have tokens of their own.
 * - A token is never an argument of a program: other users can read those.
 * - Whatever does not work is a `CommandFailure`. It is never taken for a token that does not exist.
 */
export interface Credentials {
  /** For people: "the keychain", or a path. */
  readonly place: string;
  /** Undefined where there is none. */
  read(key: CredentialKey): Promise<string | undefined>;
  write(key: CredentialKey, token: string): Promise<void>;
  /** Safe to repeat. */
  remove(key: CredentialKey): Promise<void>;
}
