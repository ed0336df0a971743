import type { Account } from '../state/account.ts';
import type { World } from '../state/world.ts';

/** Who acts where a test does not say who: a person with every right in the repositories they made. */
const defaultPerson = 'octocat';

/** Everybody who is named exists. */
export const person = (world: World, login: string = defaultPerson): Account =>
  world.account(login) ?? world.addAccount(login, 'User');

export interface By {
  /** The login of a person; `octocat` if left out. */
  readonly by?: string | undefined;
}
