import type { EphError } from '@eph/contract';
import type { Caller } from '@eph/engine/access/caller';
import type { CallerAccess, Decision } from '@eph/engine/access/decide';
import type { Cancel, Clock } from '@eph/engine/time/clock';

/** What somebody does for longer than a moment, such as reading a log. */
export interface LongUse {
  readonly caller: Caller;
  /** Whether the caller may go on, by the rules in force. */
  readonly decide: (access: CallerAccess) => Decision;
}

export interface AccessWatch extends Disposable {
  /** Aborts when the caller may not go on; its reason is the error to answer with. */
  readonly signal: AbortSignal;
}

export interface WatchesOptions {
  readonly clock: Clock;
  /** Why it may not go on. */
  readonly check: (use: LongUse) => EphError | undefined;
}

/** How soon a change of rules ends what it forbids. The files of rules are read at other times, which nobody announces. */
const checkMs = 2_000;

/** Ends what callers may not do any more. One timer is enough for all of them. */
export class Watches implements Disposable {
  readonly #options: WatchesOptions;
  readonly #running = new Map<AbortController, LongUse>();
  #next: { readonly at: number; readonly cancel: Cancel } | undefined;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  add(use: LongUse): AccessWatch {
    const controller = new AbortController();
    this.#running.set(controller, use);
    this.#check(controller, use);
    this.#schedule(use);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        this.#running.delete(controller);
        if (this.#running.size === 0) this[Symbol.dispose]();
      },
    };
  }

  checkAll(): void {
    for (const [controller, use] of this.#running) this.#check(controller, use);
    for (const use of this.#running.values()) this.#schedule(use);
  }

  [Symbol.dispose](): void {
    this.#next?.cancel();
    this.#next = undefined;
  }

  #check(controller: AbortController, use: LongUse): void {
    const error = this.#options.check(use);
    if (error === undefined) return;
    this.#running.delete(controller);
    controller.abort(error);
  }

  /** The next check is soon, or when the token expires if that is sooner. */
  #schedule({ caller }: LongUse): void {
    const { clock } = this.#options;
    const now = clock.now();
    const expiresAt = caller.kind === 'person' ? caller.token?.expiresAt : undefined;
    const at = Math.min(now + checkMs, expiresAt ?? Number.POSITIVE_INFINITY);
    if (this.#running.size === 0 || (this.#next !== undefined && this.#next.at <= at)) return;
    this.#next?.cancel();
    const cancel = clock.after(at - now, () => {
      this.#next = undefined;
      this.checkAll();
    });
    this.#next = { at, cancel };
  }
}
