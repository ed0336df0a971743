import { EphError, type ProjectId, type Route } from '@eph/contract';
import type { Access } from '../access/access.ts';
import type { ProjectIds } from './find-project.ts';
import type { Caller } from './handlers.ts';
import { keyOf } from './rate-limits.ts';

export interface LongUseOptions {
  readonly access: Pick<Access, 'watch'>;
  readonly projects: ProjectIds;
  readonly closing: AbortSignal;
  readonly uses: LongUses;
}

/**
 * More than a dashboard in several tabs and the scripts of a team have; browsers open many connections at once. Each costs memory, and an
 * `exec` processes.
 */
const most = { stream: 200, exec: 20, port: 200 } as const;

/** How many streams, commands and connections run with each token: whoever is known has no limit of connections. */
export class LongUses {
  readonly #running = new Map<string, number>();

  /** Throws where there are too many. */
  begin(kind: keyof typeof most, caller: Caller): Disposable {
    const key = `${kind} ${keyOf(caller)}`;
    const running = this.#running.get(key) ?? 0;
    if (running >= most[kind]) throw new EphError('api.too_many', `${running} ${names[kind]} with this token are open already`);
    this.#running.set(key, running + 1);
    return { [Symbol.dispose]: () => this.#end(key) };
  }

  #end(key: string): void {
    const running = this.#running.get(key) ?? 0;
    if (running > 1) this.#running.set(key, running - 1);
    else this.#running.delete(key);
  }
}

const names = { stream: 'streams', exec: 'commands', port: 'connections' } as const;

/** A stream, a command or a connection that runs: it ends with ephd, with its client, and when its caller may not go on. */
export class LongUse implements Disposable {
  readonly signal: AbortSignal;
  readonly #gone = new AbortController();
  readonly #watch: Disposable;
  #running: Disposable | undefined;
  #project: ProjectId | undefined;

  constructor(
    { permission, target, answer }: Route,
    caller: Caller,
    project: ProjectId | undefined,
    { access, projects, closing, uses }: LongUseOptions,
  ) {
    this.#running = uses.begin(answer.type === 'exec' || answer.type === 'port' ? answer.type : 'stream', caller);
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
    this.#running?.[Symbol.dispose]();
    this.#running = undefined;
    this.#gone.abort();
  }
}
