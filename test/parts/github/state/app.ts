import type { KeyObject } from 'node:crypto';
import type { Account } from './account.ts';
import type { Hook } from './hook.ts';

export type PermissionLevel = 'read' | 'write';

/** For instance `{ pull_requests: 'write' }`, in the words of GitHub. */
export type AppPermissions = Readonly<Record<string, PermissionLevel>>;

export interface App {
  readonly id: number;
  readonly clientId: string;
  readonly slug: string;
  readonly owner: Account;
  readonly bot: Account;
  readonly publicKey: KeyObject;
  readonly permissions: AppPermissions;
  readonly events: readonly string[];
  readonly createdAt: number;
  /** Where its webhooks go; an App has one address for all installations. */
  readonly hook: Hook | undefined;
}

export interface Installation {
  readonly id: number;
  readonly app: App;
  readonly account: Account;
  /** Ids of the chosen repositories; all of the account, also those to come, where not chosen. */
  readonly selected: Set<number> | undefined;
  readonly createdAt: number;
  suspendedAt: number | undefined;
}

interface TokenBase {
  readonly text: string;
  readonly expiresAt: number | undefined;
  revoked: boolean;
}

export type Token =
  | (TokenBase & { readonly kind: 'personal'; readonly user: Account; readonly scopes: readonly string[] })
  | (TokenBase & {
      readonly kind: 'installation';
      readonly installation: Installation;
      readonly permissions: AppPermissions;
      /** Narrower than the installation, if it was asked for so. */
      readonly repositories: ReadonlySet<number> | undefined;
    });
