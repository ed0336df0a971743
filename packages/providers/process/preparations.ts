import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync } from 'node:fs';
import type { Identity } from '@eph/contract';
import { confine } from './confinement.ts';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import { openLimits } from './environment-limits.ts';
import { LogFile } from './log-file.ts';
import { type PreparationResult, runPreparation } from './preparation.ts';
import { type InstanceRecord, type PreparationRecord, readPreparation, writeRecord } from './records.ts';
import type { Prepare } from './service.ts';
import { computeServiceEnvironment } from './service-environment.ts';
import type { Trees } from './trees.ts';

/** The checkout stays unusable until something about it changes: a new commit, or other values. */
export class PreparationFailed extends Error {}

/** The name of the checkout that a version runs in. What is prepared in different ways is kept apart. */
export const checkoutOf = ({ commit, service: { prepare } }: Pick<InstanceRecord, 'commit' | 'service'>): string =>
  prepare === undefined ? commit : `${commit}-${createHash('sha256').update(JSON.stringify(prepare)).digest('hex').slice(0, 8)}`;

export interface PreparationHost {
  readonly identity: Identity;
  readonly trees: Trees;
}

/** `cut off` if it has to be done again. */
type Outcome = PreparationResult | 'cut off';

interface Run {
  readonly done: Promise<Outcome>;
  readonly ending: AbortController;
  waiting: number;
}

const never = new AbortController().signal;

/**
 * Prepares the checkouts of an environment, each once, for all components that run there. A record outside the checkout says whether
 * that is finished: a checkout in which it was cut off is thrown away.
 */
export class Preparations {
  readonly #context: Context;
  readonly #host: PreparationHost;
  readonly #runs = new Map<string, Run>();
  readonly #logs = new Map<string, LogFile>();
  #cache: string | undefined;

  constructor(context: Context, host: PreparationHost) {
    this.#context = context;
    this.#host = host;
  }

  /** What is being used at the moment. */
  get cache(): string | undefined {
    return this.#cache;
  }

  isRunning(checkout: string): boolean {
    return this.#runs.has(checkout);
  }

  /** Undefined before it has begun, and for a record that cannot be read: then it is done again. */
  read(checkout: string): PreparationRecord | undefined {
    const read = readPreparation(this.#context.layout.preparationRecord(this.#host.identity.id, checkout));
    return read.state === 'read' ? read.record : undefined;
  }

  /** The same for each checkout every time. */
  logOf(checkout: string): LogFile {
    const { layout, now } = this.#context;
    const log = this.#logs.get(checkout) ?? new LogFile(layout.preparationLog(this.#host.identity.id, checkout), now);
    this.#logs.set(checkout, log);
    return log;
  }

  /** Returns the prepared checkout. If nobody waits for it any more, it is ended. */
  async ensure(record: InstanceRecord, prepare: Prepare, signal: AbortSignal): Promise<string> {
    const checkout = checkoutOf(record);
    const { trees } = this.#host;
    const before = this.read(checkout);
    if (before?.state === 'failed') throw new PreparationFailed(before.message);
    if (before?.state !== 'finished' || !trees.has(checkout)) {
      const run = this.#runs.get(checkout) ?? this.#start(checkout, record, prepare);
      const outcome = await waitFor(run, signal);
      signal.throwIfAborted();
      if (outcome === 'cut off') return await this.ensure(record, prepare, signal);
      if (outcome.state === 'failed') throw new PreparationFailed(outcome.message);
    }
    return await trees.ensure(checkout, record.commit, signal);
  }

  async forgetFailure(checkout: string): Promise<void> {
    if (this.read(checkout)?.state === 'failed')
      await this.#context.scratch.discard(this.#context.layout.preparation(this.#host.identity.id, checkout));
  }

  /** Ends all that run. */
  async end(): Promise<void> {
    const runs = [...this.#runs.values()];
    for (const { ending } of runs) ending.abort();
    await Promise.allSettled(runs.map(({ done }) => done));
  }

  #start(checkout: string, record: InstanceRecord, prepare: Prepare): Run {
    const ending = new AbortController();
    const done = this.#prepare(checkout, record, prepare, ending.signal)
      .catch((error: unknown) => {
        // Somebody may want it again, and wait for this one already.
        if (ending.signal.aborted) return 'cut off' as const;
        throw error;
      })
      .finally(() => this.#runs.delete(checkout));
    const run = { done, ending, waiting: 0 };
    this.#runs.set(checkout, run);
    return run;
  }

  async #prepare(checkout: string, instance: InstanceRecord, prepare: Prepare, signal: AbortSignal): Promise<Outcome> {
    const { layout, scratch, caches, cgroups, secretOf, urlOf } = this.#context;
    const { identity, trees } = this.#host;
    const marker = layout.preparationMarker(identity.id, checkout);
    const folder = layout.preparation(identity.id, checkout);
    if (existsSync(folder)) await this.#throwAway(checkout, folder, marker);
    const home = layout.preparationHome(identity.id, checkout);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const path = layout.preparationRecord(identity.id, checkout);
    const write = (record: PreparationRecord): void => writeRecord(path, record, { durable: false });
    const place = { environment: identity.id, component: preparationGroup };
    const tree = await trees.ensure(checkout, instance.commit, signal);
    using cache = caches.open(identity, instance.fromFork === true);
    this.#cache = cache.folder;
    const facts = { marker, secretOf: (name: string) => secretOf(identity.project, name), url: urlOf(identity) };
    const variables = computeServiceEnvironment(this.#context.variables, prepare, facts);
    const command = confine(this.#context, instance, {
      command: prepare.command,
      checkout: { tree, directory: '.' },
      home,
      variables,
      cache: cache.folder,
      port: 0,
    });
    try {
      const result = await runPreparation(
        this.#context,
        {
          command,
          timeoutSeconds: prepare.timeoutSeconds,
          log: this.logOf(checkout),
          marker,
          limits: openLimits(this.#context, place, prepare, instance.budget),
          record: (process) => write({ state: 'running', process }),
          countMemoryKills: () => cgroups.countMemoryKills(place),
        },
        signal,
      );
      // It is done again by whoever waits: what used the cache may have failed for no other reason.
      if (result.state === 'failed' && cache.isGone()) return 'cut off';
      const saved = result.state === 'finished' ? cache.note(result.seconds) : undefined;
      const noted = saved === undefined ? result : { ...result, saved };
      write(noted);
      return noted;
    } finally {
      this.#cache = undefined;
      if (command.input !== undefined) closeSync(command.input);
      await scratch.discard(home);
    }
  }

  /** It was cut off, whatever its record says. */
  async #throwAway(checkout: string, folder: string, marker: string): Promise<void> {
    const { processes, limits, scratch } = this.#context;
    const before = this.read(checkout);
    const leaders = before?.state === 'running' ? [before.process] : [];
    await endProcesses(processes, { marker, leaders, graceMs: limits.graceMs, signal: never });
    await this.#host.trees.discard(checkout);
    await scratch.discard(folder);
  }
}

/** Not the name of a component. */
const preparationGroup = '.prepare';

const waitFor = async (run: Run, signal: AbortSignal): Promise<Outcome> => {
  run.waiting += 1;
  const leave = (): void => {
    run.waiting -= 1;
    if (run.waiting === 0) run.ending.abort();
  };
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (signal.aborted) leave();
    return await run.done;
  } finally {
    signal.removeEventListener('abort', leave);
  }
};
