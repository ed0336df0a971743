import type { AnswerOf, BodyOf, PathOf, Permission, ProjectId, QueryOf, Route, RouteName, Routes } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';

/** Who asks, and what they may do now. */
export interface Caller {
  may(permission: Permission, project: ProjectId): boolean;
  /** Where it is about no project in particular: in at least one. */
  maySomewhere(permission: Permission): boolean;
}

/** One request, as far as everybody needs it: it has been let in and parsed. */
export interface Call<R extends Route = Route> {
  readonly path: PathOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  /** What `{id}` names; the caller may do this with it. */
  readonly environment: R['target'] extends 'environment' ? EnvironmentRecord : undefined;
  readonly caller: Caller;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

export type Handler<R extends Route> = (call: Call<R>) => AnswerOf<R> | Promise<AnswerOf<R>>;

export type Handlers<Names extends RouteName = RouteName> = { readonly [name in Names]: Handler<Routes[name]> };
