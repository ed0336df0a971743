import type { ProjectId, Route } from '@eph/contract';
import type { Access } from '../access/access.ts';
import type { Caller } from './handlers.ts';

/** A stream or a command that runs: it ends with ephd, with its client, and when its caller may not go on. */
export class LongUse implements Disposable {
  readonly signal: AbortSignal;
  readonly #gone = new AbortController();
  readonly #watch: Disposable;

  constructor(route: Route, caller: Caller, project: ProjectId | undefined, access: Pick<Access, 'watch'>, closing: AbortSignal) {
    // What concerns each of many projects is filtered while it is sent.
    const permission = route.target === 'each' || route.permission === null ? 'account.read' : route.permission;
    const watch = access.watch(caller.identity, permission, project);
    const ofSession = caller.session === undefined ? [] : [caller.session.signal];
    this.signal = AbortSignal.any([this.#gone.signal, closing, watch.signal, ...ofSession]);
    this.#watch = watch;
  }

  get isClientGone(): boolean {
    return this.#gone.signal.aborted;
  }

  clientHasGone(): void {
    this.#gone.abort();
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}
