import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../e2e/eventually.ts';
import type { EphdExit, EphdLine, RunningEphd } from '../e2e/running-ephd.ts';
import { interruptAt } from './interrupt.ts';
import type { Batch, KillPoint, Operation, Round } from './plan.ts';
import type { Boundary } from './step-watch.ts';
import type { Comparison, World, WorldKind } from './world.ts';

export interface HarnessResult {
  readonly kills: number;
  /** How services ran. */
  readonly description: string;
  /** How many times ephd was given time to settle; `converged` counts how often it did. */
  readonly settles: number;
  readonly converged: number;
  /** Where ephd was actually killed. */
  readonly boundaries: readonly Boundary[];
  readonly orphans: readonly string[];
  readonly doubles: readonly string[];
  readonly wrongDeletions: readonly string[];
  /** All other failures. */
  readonly faults: readonly string[];
  readonly history: readonly string[];
  /** Kept for inspection after a failure. */
  readonly folder: string | undefined;
}

const settleWithinSeconds = 60;
const historyLines = 120;

/** Ends the run; the violation itself has been recorded already. */
class InvariantViolated extends Error {}

/** Kills one ephd over and over while branches of its repository are created, updated and deleted. */
export class ChaosHarness {
  readonly #world: World;
  readonly #stepWithinMs: number;
  readonly #progress: (kills: number) => void;
  /** Branches there are. */
  readonly #branches = new Set<string>();
  readonly #boundaries: Boundary[] = [];
  readonly #faults: string[] = [];
  readonly #history: string[] = [];
  #orphans: readonly string[] = [];
  #kills = 0;
  #description = '';
  #settles = 0;
  #converged = 0;

  private constructor(world: World, stepWithinMs: number, progress: (kills: number) => void) {
    this.#world = world;
    this.#stepWithinMs = stepWithinMs;
    this.#progress = progress;
  }

  /** Stops at the first violation, so that the history ends there. */
  static async run(
    worlds: WorldKind,
    batches: readonly Batch[],
    progress: (kills: number) => void,
    signal: AbortSignal,
  ): Promise<HarnessResult> {
    const world = await worlds.create();
    // The deletion guard holds everything if a repository becomes empty, which is not under test here.
    await world.harness.repository.push('main', { README: 'what stays' });
    const chaos = new ChaosHarness(world, worlds.stepWithinMs, progress);
    try {
      for (const batch of batches) await chaos.#runBatch(batch, signal);
      await chaos.#removeAll(signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof InvariantViolated))
        chaos.#faults.push(error instanceof Error ? error.message : String(error));
    }
    const result = chaos.#result();
    if (result.folder === undefined) await world[Symbol.asyncDispose]();
    else await world.halt();
    return result;
  }

  get #holds(): boolean {
    const { doubles, wrongDeletions } = this.#world;
    return this.#orphans.length + this.#faults.length + doubles.size + wrongDeletions.size === 0;
  }

  #result(): HarnessResult {
    return {
      kills: this.#kills,
      description: this.#description,
      settles: this.#settles,
      converged: this.#converged,
      boundaries: this.#boundaries,
      orphans: this.#orphans,
      doubles: [...this.#world.doubles],
      wrongDeletions: [...this.#world.wrongDeletions],
      faults: this.#faults,
      history: this.#history.slice(-historyLines),
      folder: this.#holds ? undefined : this.#world.harness.folder,
    };
  }

  async #runBatch(batch: Batch, signal: AbortSignal): Promise<void> {
    for (const round of batch) await this.#runRound(round, signal);
    await this.#settle(signal);
  }

  async #runRound({ operations, killPoint }: Round, signal: AbortSignal): Promise<void> {
    const [early, late] = [operations.filter(({ atMs }) => atMs === 0), operations.filter(({ atMs }) => atMs > 0)];
    for (const { operation } of early) await this.#perform(operation);
    const ephd = this.#launch(killPoint);
    const killed = this.#killAt(ephd, killPoint);
    const up = ephd.upOrEnded().then(() => performance.now());
    for (const { operation, atMs } of late) {
      // If ephd is killed before the operation is due, it happens while no ephd runs.
      await Promise.race([up.then((since) => sleep(Math.max(0, since + atMs - performance.now()))), killed]);
      await this.#perform(operation);
    }
    const exit = await killed;
    if (exit.signal !== 'SIGKILL') throw new Error(`ephd ended by itself with ${exit.code ?? exit.signal}: ${exit.stderr}`);
    this.#countKill(describeKillPoint(killPoint));
    this.#check(signal);
  }

  #launch(killPoint?: KillPoint): RunningEphd {
    const boundary = killPoint?.kind === 'boundary' ? killPoint.boundary : undefined;
    const { harness, startOptions } = this.#world;
    const nodeArgs = boundary === undefined ? [] : interruptAt(harness.dataFolder, boundary);
    const ephd = harness.launch({ ...startOptions, nodeArgs });
    this.#note(`start ephd ${ephd.pid}`);
    ephd.onLine((line) => this.#note(`  ${describeLine(line)}`));
    return ephd;
  }

  async #killAt(ephd: RunningEphd, killPoint: KillPoint): Promise<EphdExit> {
    const { after, ms } = killPoint.kind === 'time' ? killPoint : { after: 'up', ms: this.#stepWithinMs };
    if (after === 'up') await ephd.upOrEnded();
    const exit = await Promise.race([ephd.exited, sleep(ms, undefined)]);
    if (exit === undefined) return ephd.kill();
    if (exit.signal === 'SIGKILL' && killPoint.kind === 'boundary') this.#boundaries.push(killPoint.boundary);
    return exit;
  }

  async #perform(operation: Operation): Promise<void> {
    const { branch } = operation;
    if (operation.type === 'delete') {
      this.#branches.delete(branch);
      await this.#world.delete(branch);
      return this.#note(`delete ${branch}`);
    }
    this.#branches.add(branch);
    const commit = await this.#world.push(branch, operation.shape);
    this.#note(`push ${branch} ${commit.slice(0, 7)} (${operation.shape})`);
  }

  /** Lets ephd work until the observed state matches Git, then kills it. */
  async #settle(signal: AbortSignal): Promise<void> {
    this.#settles += 1;
    const ephd = this.#launch();
    await ephd.up();
    this.#description = await this.#world.describe();
    let last: Comparison = { differences: [], orphans: [] };
    const check = async (): Promise<boolean> => {
      signal.throwIfAborted();
      last = await this.#world.compare(ephd.pid);
      return last.differences.length === 0;
    };
    await eventually('the observed state matches Git', check, settleWithinSeconds).catch((error: unknown) => {
      this.#orphans = last.orphans;
      throw new Error(`${String(error)}\n${last.differences.join('\n')}`, { cause: error });
    });
    this.#converged += 1;
    this.#note('the observed state matches Git');
    // Killing ephd must not restart services.
    this.#faults.push(...(await this.#world.settled()));
    await ephd.kill();
    this.#countKill('after settling');
    this.#check(signal);
  }

  /** Deletes the last branches; nothing may be left behind. */
  async #removeAll(signal: AbortSignal): Promise<void> {
    for (const branch of this.#branches) await this.#perform({ type: 'delete', branch });
    await this.#settle(signal);
    this.#kills -= 1; // Not one of the planned kills.
  }

  #countKill(where: string): void {
    this.#kills += 1;
    this.#note(`kill ${this.#kills} ${where}`);
    this.#progress(this.#kills);
  }

  #check(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!this.#holds) throw new InvariantViolated();
  }

  #note(text: string): void {
    this.#history.push(`${new Date().toISOString().slice(11, 23)} ${text}`);
    if (this.#history.length > 10 * historyLines) this.#history.splice(0, 9 * historyLines);
  }
}

const describeKillPoint = (killPoint: KillPoint): string =>
  killPoint.kind === 'time'
    ? `${killPoint.ms} ms after ${killPoint.after}`
    : `${killPoint.boundary.side} ${killPoint.boundary.step} (${killPoint.boundary.occurrence})`;

const describeLine = ({ msg, level: _level, time: _time, ...fields }: EphdLine): string => {
  const text = JSON.stringify(fields);
  return `${msg} ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
};
