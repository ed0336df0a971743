import { setTimeout as sleep } from 'node:timers/promises';
import { EphdHarness } from '../e2e/ephd-harness.ts';
import { eventually } from '../e2e/eventually.ts';
import type { EphdExit, EphdLine, RunningEphd } from '../e2e/running-ephd.ts';
import { app } from '../e2e/sample-app.ts';
import { interruptAt } from './interrupt.ts';
import { type Expected, findDifferences, findOrphans, readObservedState } from './observed-state.ts';
import { Observer } from './observer.ts';
import { type Batch, type KillPoint, type Operation, type Round, shapes } from './plan.ts';
import type { Boundary } from './step-watch.ts';

export interface HarnessResult {
  readonly kills: number;
  /** How services ran: `sandboxed` or `trusted`. */
  readonly isolation: string;
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
/** If the round does not reach the step within this time, ephd is killed wherever it is. */
const boundaryWithinMs = 3_000;
const historyLines = 120;

/** Ends the run; the violation itself has been recorded already. */
class InvariantViolated extends Error {}

/** Kills one ephd over and over while branches of its repository are created, updated and deleted. */
export class ChaosHarness {
  readonly #harness: EphdHarness;
  readonly #observer: Observer;
  readonly #progress: (kills: number) => void;
  readonly #expected = new Map<string, Expected>();
  readonly #boundaries: Boundary[] = [];
  readonly #faults: string[] = [];
  readonly #history: string[] = [];
  #orphans: readonly string[] = [];
  /** The processes when everything had last settled, by component and commit. */
  #resting = new Map<string, number>();
  #kills = 0;
  #isolation = '';
  #settles = 0;
  #converged = 0;

  private constructor(harness: EphdHarness, progress: (kills: number) => void) {
    this.#harness = harness;
    this.#observer = new Observer(harness);
    this.#progress = progress;
  }

  /** Stops at the first violation, so that the history ends there. */
  static async run(batches: readonly Batch[], progress: (kills: number) => void, signal: AbortSignal): Promise<HarnessResult> {
    const harness = await EphdHarness.create();
    // The deletion guard holds everything if a repository becomes empty, which is not under test here.
    await harness.repository.push('main', { README: 'what stays' });
    const chaos = new ChaosHarness(harness, progress);
    try {
      for (const batch of batches) await chaos.#runBatch(batch, signal);
      await chaos.#removeAll(signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof InvariantViolated))
        chaos.#faults.push(error instanceof Error ? error.message : String(error));
    }
    chaos.#observer[Symbol.dispose]();
    const result = chaos.#result();
    if (result.folder === undefined) await harness[Symbol.asyncDispose]();
    else await harness.halt();
    return result;
  }

  get #holds(): boolean {
    const { doubles, wrongDeletions } = this.#observer;
    return this.#orphans.length + this.#faults.length + doubles.size + wrongDeletions.size === 0;
  }

  #result(): HarnessResult {
    return {
      kills: this.#kills,
      isolation: this.#isolation,
      settles: this.#settles,
      converged: this.#converged,
      boundaries: this.#boundaries,
      orphans: this.#orphans,
      doubles: [...this.#observer.doubles],
      wrongDeletions: [...this.#observer.wrongDeletions],
      faults: this.#faults,
      history: this.#history.slice(-historyLines),
      folder: this.#holds ? undefined : this.#harness.folder,
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
    const nodeArgs = boundary === undefined ? [] : interruptAt(this.#harness.dataFolder, boundary);
    const ephd = this.#harness.launch({ nodeArgs });
    this.#note(`start ephd ${ephd.pid}`);
    ephd.onLine((line) => this.#note(`  ${describeLine(line)}`));
    return ephd;
  }

  async #killAt(ephd: RunningEphd, killPoint: KillPoint): Promise<EphdExit> {
    const { after, ms } = killPoint.kind === 'time' ? killPoint : { after: 'up', ms: boundaryWithinMs };
    if (after === 'up') await ephd.upOrEnded();
    const exit = await Promise.race([ephd.exited, sleep(ms, undefined)]);
    if (exit === undefined) return ephd.kill();
    if (exit.signal === 'SIGKILL' && killPoint.kind === 'boundary') this.#boundaries.push(killPoint.boundary);
    return exit;
  }

  async #perform(operation: Operation): Promise<void> {
    const { branch } = operation;
    if (operation.type === 'delete') {
      this.#observer.branchWillBeDeleted(branch);
      this.#expected.delete(branch);
      await this.#harness.repository.delete(branch);
      return this.#note(`delete ${branch}`);
    }
    const services = shapes[operation.shape];
    const commit = await this.#harness.repository.push(branch, app(services));
    this.#expected.set(branch, { branch, commit, components: Object.keys(services), answers: operation.shape !== 'worker' });
    this.#note(`push ${branch} ${commit.slice(0, 7)} (${operation.shape})`);
  }

  /** Lets ephd work until the observed state matches Git, then kills it. */
  async #settle(signal: AbortSignal): Promise<void> {
    this.#settles += 1;
    const ephd = this.#launch();
    await ephd.up();
    this.#isolation = await this.#harness.isolation();
    const expected = [...this.#expected.values()];
    let differences: readonly string[] = [];
    const check = async (): Promise<boolean> => {
      signal.throwIfAborted();
      differences = findDifferences(expected, await readObservedState(this.#harness, expected, ephd.pid));
      return differences.length === 0;
    };
    await eventually('the observed state matches Git', check, settleWithinSeconds).catch(async (error: unknown) => {
      this.#orphans = findOrphans(expected, await readObservedState(this.#harness, expected, ephd.pid));
      throw new Error(`${String(error)}\n${differences.join('\n')}`, { cause: error });
    });
    this.#converged += 1;
    this.#note('the observed state matches Git');
    this.#observer.settled();
    this.#checkRestarts(expected);
    await ephd.kill();
    this.#countKill('after settling');
    this.#check(signal);
  }

  /** A process that is still wanted must be the same as after the last settling: killing ephd must not restart services. */
  #checkRestarts(expected: readonly Expected[]): void {
    const wanted = new Set(expected.map((one) => one.commit));
    const running = this.#harness.services().filter((one) => one.pid === one.session);
    const resting = new Map(running.map((one) => [`${one.component} at ${one.variables['EPH_COMMIT']}`, one.pid]));
    for (const [service, pid] of this.#resting)
      if (wanted.has(service.slice(service.lastIndexOf(' ') + 1)) && resting.get(service) !== pid)
        this.#faults.push(`${service} was restarted without reason: process ${pid} became ${resting.get(service)}`);
    this.#resting = resting;
  }

  /** Deletes the last branches; nothing may be left behind. */
  async #removeAll(signal: AbortSignal): Promise<void> {
    for (const branch of this.#expected.keys()) await this.#perform({ type: 'delete', branch });
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
