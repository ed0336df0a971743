import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../e2e/eventually.ts';
import type { EphdExit, EphdLine, RunningEphd } from '../e2e/running-ephd.ts';
import { app } from '../e2e/sample-app.ts';
import { Site } from '../e2e/site.ts';
import { interruptAt } from './interrupt.ts';
import { type Moment, type Operation, type Round, type Stretch, shapes } from './plan.ts';
import type { Boundary } from './step-watch.ts';
import { Witness } from './witness.ts';
import { type Expected, findDifferences, findOrphans, readWorld } from './world.ts';

export interface TownResult {
  readonly kills: number;
  /** How many times everything had to settle, and did. */
  readonly settles: number;
  readonly converged: number;
  /** Where ephd was really stopped. */
  readonly boundaries: readonly Boundary[];
  readonly orphans: readonly string[];
  readonly doubles: readonly string[];
  readonly wrongDeletions: readonly string[];
  /** Anything else that must not happen. */
  readonly faults: readonly string[];
  readonly history: readonly string[];
  /** Kept because something went wrong. */
  readonly folder: string | undefined;
}

const settleWithinSeconds = 60;
/** A step that is not reached is not part of this round; then ephd is killed wherever it is. */
const boundaryWithinMs = 3_000;
const historyLines = 120;

/** Something is wrong that has been noted already. */
class Unsound extends Error {}

/** One repository and one ephd that is killed over and over while branches come, change and go. */
export class Town {
  readonly #site: Site;
  readonly #witness: Witness;
  readonly #progress: (kills: number) => void;
  readonly #expected = new Map<string, Expected>();
  readonly #boundaries: Boundary[] = [];
  readonly #faults: string[] = [];
  readonly #history: string[] = [];
  #orphans: readonly string[] = [];
  /** What ran when everything was last at rest. */
  #resting = new Map<string, number>();
  #kills = 0;
  #settles = 0;
  #converged = 0;

  private constructor(site: Site, progress: (kills: number) => void) {
    this.#site = site;
    this.#witness = new Witness(site);
    this.#progress = progress;
  }

  /** Stops at the first thing that is wrong, so that the history ends there. */
  static async live(stretches: readonly Stretch[], progress: (kills: number) => void, signal: AbortSignal): Promise<TownResult> {
    const site = await Site.create();
    // A repository of which nothing is left at all is held back, and that is not what this is about.
    await site.repository.push('main', { README: 'what stays' });
    const town = new Town(site, progress);
    try {
      for (const stretch of stretches) await town.#liveThrough(stretch, signal);
      await town.#leave(signal);
    } catch (error) {
      if (!signal.aborted && !(error instanceof Unsound))
        town.#faults.push(error instanceof Error ? error.message : String(error));
    }
    town.#witness[Symbol.dispose]();
    const result = town.#result();
    if (result.folder === undefined) await site[Symbol.asyncDispose]();
    else await site.halt();
    return result;
  }

  get #isSound(): boolean {
    const { doubles, wrongDeletions } = this.#witness;
    return this.#orphans.length + this.#faults.length + doubles.size + wrongDeletions.size === 0;
  }

  #result(): TownResult {
    return {
      kills: this.#kills,
      settles: this.#settles,
      converged: this.#converged,
      boundaries: this.#boundaries,
      orphans: this.#orphans,
      doubles: [...this.#witness.doubles],
      wrongDeletions: [...this.#witness.wrongDeletions],
      faults: this.#faults,
      history: this.#history.slice(-historyLines),
      folder: this.#isSound ? undefined : this.#site.folder,
    };
  }

  async #liveThrough(stretch: Stretch, signal: AbortSignal): Promise<void> {
    for (const round of stretch) await this.#suffer(round, signal);
    await this.#settle(signal);
  }

  async #suffer({ operations, moment }: Round, signal: AbortSignal): Promise<void> {
    const [early, late] = [operations.filter(({ atMs }) => atMs === 0), operations.filter(({ atMs }) => atMs > 0)];
    for (const { operation } of early) await this.#perform(operation);
    const ephd = this.#launch(moment);
    const killed = this.#killAt(ephd, moment);
    const up = ephd.upOrEnded().then(() => performance.now());
    for (const { operation, atMs } of late) {
      // What comes too late for this ephd happens while none is there.
      await Promise.race([up.then((since) => sleep(Math.max(0, since + atMs - performance.now()))), killed]);
      await this.#perform(operation);
    }
    const exit = await killed;
    if (exit.signal !== 'SIGKILL') throw new Error(`ephd ended by itself with ${exit.code ?? exit.signal}: ${exit.stderr}`);
    this.#countKill(describeMoment(moment));
    this.#check(signal);
  }

  #launch(moment?: Moment): RunningEphd {
    const boundary = moment?.kind === 'boundary' ? moment.boundary : undefined;
    const nodeArgs = boundary === undefined ? [] : interruptAt(this.#site.dataFolder, boundary);
    const ephd = this.#site.launch({ nodeArgs });
    this.#note(`start ephd ${ephd.pid}`);
    ephd.onLine((line) => this.#note(`  ${describeLine(line)}`));
    return ephd;
  }

  async #killAt(ephd: RunningEphd, moment: Moment): Promise<EphdExit> {
    const { after, ms } = moment.kind === 'time' ? moment : { after: 'up', ms: boundaryWithinMs };
    if (after === 'up') await ephd.upOrEnded();
    const exit = await Promise.race([ephd.exited, sleep(ms, undefined)]);
    if (exit === undefined) return ephd.kill();
    if (exit.signal === 'SIGKILL' && moment.kind === 'boundary') this.#boundaries.push(moment.boundary);
    return exit;
  }

  async #perform(operation: Operation): Promise<void> {
    const { branch } = operation;
    if (operation.type === 'delete') {
      this.#witness.branchWillGo(branch);
      this.#expected.delete(branch);
      await this.#site.repository.delete(branch);
      return this.#note(`delete ${branch}`);
    }
    const services = shapes[operation.shape];
    const commit = await this.#site.repository.push(branch, app(services));
    this.#expected.set(branch, { branch, commit, components: Object.keys(services), answers: operation.shape !== 'worker' });
    this.#note(`push ${branch} ${commit.slice(0, 7)} (${operation.shape})`);
  }

  /** Lets ephd work until the world is what Git says, and kills it then. */
  async #settle(signal: AbortSignal): Promise<void> {
    this.#settles += 1;
    const ephd = this.#launch();
    await ephd.up();
    const expected = [...this.#expected.values()];
    let differences: readonly string[] = [];
    const look = async (): Promise<boolean> => {
      signal.throwIfAborted();
      differences = findDifferences(expected, await readWorld(this.#site, expected, ephd.pid));
      return differences.length === 0;
    };
    await eventually('everything is what Git says', look, settleWithinSeconds).catch(async (error: unknown) => {
      this.#orphans = findOrphans(expected, await readWorld(this.#site, expected, ephd.pid));
      throw new Error(`${String(error)}\n${differences.join('\n')}`, { cause: error });
    });
    this.#converged += 1;
    this.#note('everything is what Git says');
    this.#witness.settled();
    this.#checkRestarts(expected);
    await ephd.kill();
    this.#countKill('at rest');
    this.#check(signal);
  }

  /** What ran at the last rest and is still wanted must be the very same process: a killed ephd is no reason to start it again. */
  #checkRestarts(expected: readonly Expected[]): void {
    const wanted = new Set(expected.map((one) => one.commit));
    const running = this.#site.services().filter((one) => one.pid === one.session);
    const resting = new Map(running.map((one) => [`${one.component} at ${one.variables['EPH_COMMIT']}`, one.pid]));
    for (const [service, pid] of this.#resting)
      if (wanted.has(service.slice(service.lastIndexOf(' ') + 1)) && resting.get(service) !== pid)
        this.#faults.push(`${service} was started again for no reason: process ${pid} became ${resting.get(service)}`);
    this.#resting = resting;
  }

  /** The last branches go, and nothing may be left. */
  async #leave(signal: AbortSignal): Promise<void> {
    for (const branch of this.#expected.keys()) await this.#perform({ type: 'delete', branch });
    await this.#settle(signal);
    this.#kills -= 1; // Not one of those that were asked for.
  }

  #countKill(where: string): void {
    this.#kills += 1;
    this.#note(`kill ${this.#kills} ${where}`);
    this.#progress(this.#kills);
  }

  #check(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!this.#isSound) throw new Unsound();
  }

  #note(text: string): void {
    this.#history.push(`${new Date().toISOString().slice(11, 23)} ${text}`);
    if (this.#history.length > 10 * historyLines) this.#history.splice(0, 9 * historyLines);
  }
}

const describeMoment = (moment: Moment): string =>
  moment.kind === 'time'
    ? `${moment.ms} ms after ${moment.after}`
    : `${moment.boundary.side} ${moment.boundary.step} (${moment.boundary.occurrence})`;

const describeLine = ({ msg, level: _level, time: _time, ...fields }: EphdLine): string => {
  const text = JSON.stringify(fields);
  return `${msg} ${text.length > 300 ? `${text.slice(0, 300)}…` : text}`;
};
