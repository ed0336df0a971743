import type { Account } from '../state/account.ts';
import type { GithubState } from '../state/github-state.ts';

/** Who acts where a test does not say who: a person with every right in the repositories they made. */
const defaultPerson = 'octocat';

/** Everybody who is named exists. */
export const person = (github: GithubState, login: string = defaultPerson): Account =>
  github.account(login) ?? github.addAccount(login, 'User');

export interface By {
  /** The login of a person; `octocat` if left out. */
  readonly by?: string | undefined;
}
