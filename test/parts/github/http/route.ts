import type { BodyOf, OperationId, PathOf, QueryOf } from '../openapi/shapes.ts';
import type { Account } from '../state/account.ts';
import type { App, Installation } from '../state/app.ts';
import type { Credentials } from '../state/credentials.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Repository, Role } from '../state/repository.ts';
import type { Viewer } from '../state/viewer.ts';
import type { Answer } from './answer.ts';

/** Who may call a route. */
export type Access =
  | { readonly kind: 'anybody' }
  | { readonly kind: 'somebody' }
  /** An App that shows its own token. */
  | { readonly kind: 'app' }
  | { readonly kind: 'installation' }
  /** One of the permissions (`issues:write`) for an App, or a role in the repository for a person. */
  | { readonly kind: 'repository'; readonly permissions: readonly string[]; readonly role: Role };

export interface Call<Id extends OperationId> {
  readonly github: GithubState;
  readonly credentials: Credentials;
  readonly viewer: Viewer;
  readonly path: PathOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
}

export interface RepositoryCall<Id extends OperationId> extends Call<Id> {
  readonly repository: Repository;
  /** The author of a change; only for routes that require write access. */
  readonly actor: Account;
}

/** A call before the description gave its parts a type. */
export type UntypedCall = Omit<Call<never>, 'path' | 'query' | 'body'> & {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly repository: Repository | undefined;
  readonly actor: Account | undefined;
};

export interface Route {
  readonly operation: OperationId;
  readonly access: Access;
  /** The answer may change without a change of state. */
  readonly changesWithTime?: boolean;
  readonly handle: (call: UntypedCall) => Answer | Promise<Answer>;
}

type Handler<C> = (call: C) => Answer | Promise<Answer>;

export const route = <Id extends OperationId>(operation: Id, access: Access, handle: Handler<Call<Id>>): Route => ({
  operation,
  access,
  // The request fits the description of this very operation, from which the types are made.
  handle: (call) => handle(call as unknown as Call<Id>),
});

export const repositoryRoute = <Id extends OperationId>(
  operation: Id,
  permissions: readonly string[],
  role: Role,
  handle: Handler<RepositoryCall<Id>>,
): Route => ({
  operation,
  access: { kind: 'repository', permissions, role },
  // As above; access by repository also means that there is one.
  handle: (call) => handle(call as unknown as RepositoryCall<Id>),
});

export const appOf = ({ viewer }: Call<never>): App => {
  if (viewer.kind !== 'app') throw new Error('Only a route for Apps may ask which App calls.');
  return viewer.app;
};

export const installationOf = ({ viewer }: Call<never>): Installation => {
  if (viewer.kind !== 'installation') throw new Error('Only a route for installations may ask which one calls.');
  return viewer.installation;
};
