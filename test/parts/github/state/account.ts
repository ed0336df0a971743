import type { Signature } from '../git/git-objects.ts';

/** A person, an organisation, or the bot that an App acts as. */
export interface Account {
  readonly id: number;
  readonly login: string;
  readonly type: 'User' | 'Organization' | 'Bot';
  readonly createdAt: number;
  /** Of an organisation, by id of the person. */
  readonly members: Map<number, 'admin' | 'member'>;
}

export const signatureOf = (account: Account, atMs: number): Signature => ({
  name: account.login,
  email: `${account.id}+${account.login}@users.noreply.github.com`,
  atMs,
});
