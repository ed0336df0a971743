/**
 * Where it is written which tokens are not valid any more. Tokens are signed and not stored, so this is all that ends one
 * before its time.
 *
 * Contract
 * - The generation is a random text that every token carries. A store without one has lost everything, or never had anything.
 * - `read` returns what was added and still counts, or undefined where there is no generation. It throws when it does not know
 *   which of the two it is: the store cannot be reached, or is damaged. What is damaged is replaced only by one that has read
 *   it before.
 * - `add` adds to what is stored. Of two revocations of the same subject, the later of each time counts. It resolves when all of
 *   it would survive a power failure; if it fails or is killed, nothing or all of it was added. Calls may overlap.
 * - `add` returns the generation in the store. A database keeps the one it has, because several ephd share it. A file takes the
 *   given one, because it follows the database.
 * - Revocations may be dropped after `until`.
 */
export interface RevocationStore {
  /** For messages to people. */
  readonly place: string;
  read(): Promise<StoredRevocations | undefined>;
  add(given: StoredRevocations): Promise<string>;
}

export interface StoredRevocations {
  readonly generation: string;
  readonly revocations: readonly Revocation[];
}

/** Times are in milliseconds since 1970. */
export interface Revocation {
  readonly kind: 'token' | 'person';
  /** The id of the token, or the person as `<issuer>#<subject>`. */
  readonly subject: string;
  /**
   * Of a person, the tokens that carry an earlier one, or none, are revoked. It is about the time of the revocation, and always later
   * than the one before it: clocks do not decide which tokens it ends.
   */
  readonly before: number;
  /** After this time, every token it is about has expired. */
  readonly until: number;
}
