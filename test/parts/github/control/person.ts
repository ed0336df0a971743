import type { Account } from '../state/account.ts';
import type { GithubState } from '../state/github-state.ts';

/** The default actor, who has all rights in the repositories they created. */
const defaultPerson = 'octocat';

/** Creates the user if there is none of this name. */
export const person = (github: GithubState, login: string = defaultPerson): Account =>
  github.account(login) ?? github.addAccount(login, 'User');

export interface By {
  /** The login of a person; `octocat` if left out. */
  readonly by?: string | undefined;
}
