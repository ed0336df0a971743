import {
  type EnvironmentId,
  EphError,
  type Failure,
  failure,
  type Identity,
  type ObservedEnvironment,
  type ProviderName,
  type Reading,
  toFailure,
} from '@eph/contract';
import type { Provider, Scope } from './provider.ts';

/** What all providers hold in a scope. */
export interface Observation {
  readonly items: readonly ObservedEnvironment[];
  /** Providers that could not be read completely, with the reason: what they hold is unknown. */
  readonly incomplete: ReadonlyMap<ProviderName, Failure>;
}

/** What all providers hold of one environment. */
export interface EnvironmentReading {
  readonly observed: ObservedEnvironment | undefined;
  readonly incomplete: Observation['incomplete'];
}

/** Calls back once after so long, unless cancelled. */
type After = (ms: number, callback: () => void) => () => void;

const listLimitMs = 60_000;
/** What people wait for. `eph` gives up after ten seconds, and figures that take up to five may be read after it. */
const lookLimitMs = 4_000;

/**
 * Reads all providers at once and joins their components environment by environment. A provider that does not answer in time is
 * incomplete, and is not waited for again until it has answered: one that hangs must not delay the environments of the others.
 */
export class Observer {
  readonly #providers: readonly Provider[];
  readonly #after: After;
  /** Providers that did not answer in time and have not answered since; true while a call is under way. */
  readonly #hanging = new Map<ProviderName, boolean>();

  constructor(providers: readonly Provider[], after: After) {
    this.#providers = providers;
    this.#after = after;
  }

  /** @param limitMs a provider that misses a shorter one than usual is not taken for one that hangs */
  async observe(scope: Scope, signal: AbortSignal, limitMs = listLimitMs): Promise<Observation> {
    const incomplete = new Map<ProviderName, Failure>();
    const read = async (provider: Provider): Promise<readonly ObservedEnvironment[]> => {
      try {
        const reading = await this.#list(provider, scope, signal, limitMs);
        if (!reading.complete) incomplete.set(provider.name, reasonOf(provider.name, reading));
        return reading.items;
      } catch (error) {
        incomplete.set(provider.name, toFailure(error));
        return [];
      }
    };
    const listings = await Promise.all(this.#providers.map(read));
    signal.throwIfAborted();
    return { items: joinAll(listings), incomplete };
  }

  async environment(id: EnvironmentId, signal: AbortSignal): Promise<EnvironmentReading> {
    const { items, incomplete } = await this.observe({ environment: id }, signal);
    return { observed: items[0], incomplete };
  }

  /** With what runs for its components, as far as providers answer soon. */
  async look(id: EnvironmentId, signal: AbortSignal): Promise<EnvironmentReading> {
    const { items, incomplete } = await this.observe({ environment: id, parts: true }, signal, lookLimitMs);
    return { observed: items[0], incomplete };
  }

  async #list(provider: Provider, scope: Scope, signal: AbortSignal, limitMs: number): Promise<Reading<ObservedEnvironment>> {
    const { name } = provider;
    const isUnderWay = this.#hanging.get(name);
    if (isUnderWay === true || (isUnderWay === false && !('all' in scope))) throw lateError(name, listLimitMs);
    const call = new AbortController();
    const answer = followAborts(signal, call, provider.list(scope, call.signal));
    if (isUnderWay === false) {
      this.#hanging.set(name, true);
      answer.then(
        () => this.#hanging.delete(name),
        () => this.#hanging.set(name, false),
      );
      throw lateError(name, listLimitMs);
    }
    const timeout = Promise.withResolvers<never>();
    const cancel = this.#after(limitMs, () => {
      // Neither a run that was superseded nor a call from before a probe says that it hangs.
      if (limitMs === listLimitMs && !signal.aborted && !this.#hanging.has(name)) this.#hanging.set(name, false);
      call.abort(lateError(name, limitMs));
      timeout.reject(call.signal.reason);
    });
    try {
      return await Promise.race([answer, timeout.promise]);
    } finally {
      cancel();
    }
  }
}

const lateError = (name: ProviderName, limitMs: number): EphError =>
  new EphError('provider.unreachable', `provider ${name} did not answer within ${limitMs / 1000} s`);

/**
 * Aborts the call with its run. Not `AbortSignal.any`: while nobody listens to such a signal it only asks its sources, and once they
 * are collected it is no longer aborted.
 */
const followAborts = async <T>(run: AbortSignal, call: AbortController, answer: Promise<T>): Promise<T> => {
  const abort = (): void => call.abort(run.reason);
  run.addEventListener('abort', abort, { once: true });
  try {
    return await answer;
  } finally {
    run.removeEventListener('abort', abort);
  }
};

/** What everybody may know of it: the message of a reading of more than one environment may name those of any project. */
export const withoutReasons = (incomplete: Observation['incomplete']): Observation['incomplete'] =>
  new Map(
    Array.from(incomplete, ([name, { code, retryAfterMs }]) => [
      name,
      failure(code, `provider ${name} could not be read completely`, retryAfterMs),
    ]),
  );

const reasonOf = (provider: ProviderName, { faults: [first, ...others] }: Reading<unknown>): Failure => {
  if (first === undefined) return failure('provider.incomplete', `provider ${provider} could not list everything it holds`);
  return others.length === 0 ? first : { ...first, message: `${first.message} (and ${others.length} more)` };
};

const joinAll = (listings: readonly (readonly ObservedEnvironment[])[]): readonly ObservedEnvironment[] => {
  const [first = [], ...others] = listings.filter((items) => items.length > 0);
  if (others.length === 0) return first;
  const byId = new Map<EnvironmentId, ObservedEnvironment>();
  for (const environment of first) byId.set(environment.identity.id, environment);
  for (const listing of others)
    for (const environment of listing) {
      const other = byId.get(environment.identity.id);
      byId.set(environment.identity.id, other === undefined ? environment : join(other, environment));
    }
  return [...byId.values()];
};

const join = (a: ObservedEnvironment, b: ObservedEnvironment): ObservedEnvironment => ({
  identity: isOlder(b.identity, a.identity) ? b.identity : a.identity,
  components: [...a.components, ...b.components],
  held: a.held || b.held,
  ...((a.held !== b.held || a.partlyHeld === true) && { partlyHeld: true }),
  complete: a.complete && b.complete,
  mark: `${a.mark}\n${b.mark}`,
});

/** The name was chosen when the oldest identity was written. Of two of one age, all readings must choose the same. */
const isOlder = (a: Identity, b: Identity): boolean =>
  a.createdAt === b.createdAt ? a.name < b.name : a.createdAt < b.createdAt;
