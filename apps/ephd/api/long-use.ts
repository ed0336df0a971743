import type { ProjectId, Route } from '@eph/contract';
import type { Access } from '../access/access.ts';
import type { ProjectIds } from './find-project.ts';
import type { Caller } from './handlers.ts';

export interface LongUseOptions {
  readonly access: Pick<Access, 'watch'>;
  readonly projects: ProjectIds;
  readonly closing: AbortSignal;
}

/** A stream or a command that runs: it ends with ephd, with its client, and when its caller may not go on. */
export class LongUse implements Disposable {
  readonly signal: AbortSignal;
  readonly #gone = new AbortController();
  readonly #watch: Disposable;
  #project: ProjectId | undefined;

  constructor(
    { permission, target }: Route,
    caller: Caller,
    project: ProjectId | undefined,
    { access, projects, closing }: LongUseOptions,
  ) {
    this.#project = project;
    const watch = access.watch(caller.identity, (rights) => {
      const needed = permission ?? 'account.read';
      if (target === 'each' && this.#project === undefined) return rights.decideAny(needed, projects.keys());
      return rights.decide(needed, this.#project);
    });
    const ofSession = caller.session === undefined ? [] : [caller.session.signal];
    this.signal = AbortSignal.any([this.#gone.signal, closing, watch.signal, ...ofSession]);
    this.#watch = watch;
  }

  get isClientGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Of many projects, it is about this one. */
  narrowTo(project: ProjectId): void {
    this.#project = project;
  }

  clientHasGone(): void {
    this.#gone.abort();
  }

  /** Also ends what still works for it. */
  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    this.#gone.abort();
  }
}
