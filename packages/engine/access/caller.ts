import type { Person, Scope } from '@eph/contract';

/** Who calls the API. */
export type Caller = Administrator | SignedIn;

/** Somebody who can read the token file of this start of ephd. */
export interface Administrator {
  readonly kind: 'administrator';
}

export interface SignedIn {
  readonly kind: 'person';
  readonly person: Person;
  readonly groups: readonly string[];
  /** The repository whose CI calls. */
  readonly repository: string | undefined;
  /** What limits the caller besides the rules; undefined where the person is here without a token. */
  readonly token: Token | undefined;
}

/** What a token says about itself. Times are in milliseconds since 1970. */
export interface Token {
  readonly id: string;
  readonly scope: Scope;
  /** Patterns for names of projects; undefined for all that the person has. */
  readonly projects: readonly string[] | undefined;
  readonly generation: string;
  /** The last revocation of all tokens of the person when it was made, as `Revocation.before`; 0 where there was none. */
  readonly after: number;
  readonly issuedAt: number;
  readonly expiresAt: number;
}
