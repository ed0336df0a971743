import type { Duplex } from 'node:stream';
import type {
  AnswerOf,
  BodyOf,
  Event,
  EventId,
  PathOf,
  Permission,
  ProjectId,
  QueryOf,
  Route,
  RouteName,
  Routes,
} from '@eph/contract';
import type { Caller as Identity } from '@eph/engine/access/caller';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { ExecSession } from '@eph/engine/provider/provider';
import type { Session } from '../access/sessions.ts';

/** Who asks, how they proved it, and what they may do now: a change of rules counts at once. */
export interface Caller {
  readonly identity: Identity;
  readonly how: 'file' | 'token' | 'session';
  readonly session: Session | undefined;
  /** Without a project, on the server, where of the roles only admin counts. */
  may(permission: Permission, project?: ProjectId): boolean;
}

/** One request, as far as everybody needs it: it has been let in and parsed. */
export interface Call<R extends Route = Route> {
  readonly path: PathOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  /** What `{id}` names; the caller may do this with it. */
  readonly environment: R['target'] extends 'environment' ? EnvironmentRecord : undefined;
  /** Nobody is known on a route that takes no permission. */
  readonly caller: R['permission'] extends null ? undefined : Caller;
  /** Where a client wants to go on with a stream. */
  readonly lastEventId: EventId | undefined;
  /** Adds to the event of this call in the audit history. */
  readonly addToAudit: (details: Event['details']) => void;
  /** The body proved who the caller is. */
  readonly signIn: (session: Session) => void;
  /** It is about this project alone: so says its event, and a stream ends when the caller may not see that one any more. */
  readonly narrowTo: (project: ProjectId) => void;
  /** Aborts when the client has gone, or may not go on. */
  readonly signal: AbortSignal;
}

type HandlerAnswer<R extends Route> = R['answer'] extends { readonly type: 'exec' }
  ? ExecSession
  : R['answer'] extends { readonly type: 'port' }
    ? Duplex
    : AnswerOf<R>;

export type Handler<R extends Route> = (call: Call<R>) => HandlerAnswer<R> | Promise<HandlerAnswer<R>>;

export type Handlers<Names extends RouteName = RouteName> = { readonly [name in Names]: Handler<Routes[name]> };
