import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type ComponentName, type ComponentVersion, EphError, type Health, type Part, redact } from '@eph/contract';
import type { ExecRequest, ExecSession } from '@eph/engine/provider/provider';
import { confine } from './confinement.ts';
import { connectPort, notListening } from './connect-port.ts';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import { describeEnd } from './ending.ts';
import { isDiskFull, sentence } from './faults.ts';
import { launch } from './launch.ts';
import { LogFile } from './log-file.ts';
import { pause } from './pause.ts';
import { isFree } from './ports.ts';
import { PreparationFailed } from './preparations.ts';
import { isRunning, type ProcessIdentity } from './processes.ts';
import { watchReadiness } from './readiness.ts';
import type { InstanceRecord } from './records.ts';
import type { ExecLimits } from './session.ts';
import type { Checkout } from './trees.ts';

/** What an instance asks of the component that it belongs to. */
export interface InstanceHost {
  readonly name: ComponentName;
  markerOf(instance: string): string;
  logPathOf(instance: string): string;
  homeOf(instance: string): string;
  /** Makes the checkout if it is not there, and prepares it. */
  checkOut(record: InstanceRecord, signal: AbortSignal): Promise<Checkout>;
  /** How long its checkout took to prepare, in a clause. */
  describeSteps(record: InstanceRecord): readonly string[];
  variablesOf(record: InstanceRecord): Readonly<Record<string, string>>;
  /** Writes the record; throws if that is not possible, and then nothing has changed. */
  save(record: InstanceRecord): void;
  /** Gives it the traffic and writes that down. False if that was not possible: it is asked for again. */
  promote(record: InstanceRecord): boolean;
  changed(): void;
  /** Limits what it may use. A process that writes `0` to these files is held to that, with all that it will start. */
  limit(record: InstanceRecord): readonly string[];
  /** The same for a command beside it. */
  limitExec(record: InstanceRecord): ExecLimits;
  /** How many of its processes have been ended because the memory was used up. */
  countMemoryKills(): number;
}

interface Running {
  readonly identity: ProcessIdentity;
  /** Only if this ephd started it. */
  readonly child: ChildProcess | undefined;
}

const started = 'it runs';
/** Steps that take less are not worth a word. */
const shortestShown = 0.1;
const endedUnseen = 'It ended; an earlier ephd had started it, so its exit code is not known.';

/** One start of one version of a component: keeps its process running, and knows how it is. */
export class Instance {
  readonly log: LogFile;
  readonly #context: Context;
  readonly #host: InstanceHost;
  /** What is being done for it now: aborts when that has come to its end, or when it is no longer looked after. */
  #life = new AbortController();
  /** Ends what watches its process. */
  #end: (how: string) => void = () => undefined;
  #over = false;
  #record: InstanceRecord;
  #health: Pick<ComponentVersion, 'health' | 'message' | 'since'>;
  #wasReadyOnPort: boolean;
  #lookedAfter = false;
  #released = false;
  /** Seen by this ephd. */
  #restarts = 0;
  #lastEnd = '';
  #memoryKills = 0;
  /** Nothing is tried again until there is a new version. */
  #isStalled = false;
  /** How long it took to get here, one clause each. */
  readonly #steps: string[] = [];

  constructor(context: Context, host: InstanceHost, record: InstanceRecord) {
    this.#context = context;
    this.#host = host;
    this.#record = record;
    this.log = new LogFile(host.logPathOf(record.id), context.now);
    this.#wasReadyOnPort = record.readyAt !== null;
    this.#health =
      record.readyAt === null
        ? { health: 'starting', message: 'it does not answer yet', since: record.createdAt }
        : { health: 'ready', message: '', since: record.readyAt };
    context.ports.claim(record.port);
  }

  get record(): InstanceRecord {
    return this.#record;
  }

  get marker(): string {
    return this.#host.markerOf(this.#record.id);
  }

  get version(): ComponentVersion {
    const { revision, commit, images } = this.#record;
    return { revision, commit, ...(images && { images }), ...this.#health, ...(this.#isStalled && { stalled: true }) };
  }

  get part(): Part {
    const message = this.#health.message || this.#lastEnd;
    return { instance: this.#record.id, image: null, restarts: this.#restarts, message };
  }

  /** Starts it for the first time, at once where its checkout is prepared, and looks after it from now on. */
  async begin(checkout: Checkout | undefined, checkoutSeconds: number): Promise<void> {
    // Before it can write anything: what it writes unwatched has no time.
    this.#context.rotation.watch(this.log);
    if (checkoutSeconds > shortestShown) this.#steps.push(`checkout took ${checkoutSeconds.toFixed(1)} s`);
    // Whoever starts it looks at it next, so nobody is notified.
    this.#health = { ...this.#health, message: this.#describeStep(checkout === undefined ? 'prepare runs' : started) };
    this.#lookAfter(checkout && (await this.#tryLaunch(checkout)));
  }

  /** What it does on the way to its first answer, after what it has done. */
  #showStep(step: string): void {
    if (this.#record.readyAt === null) this.#setHealth('starting', this.#describeStep(step));
  }

  #describeStep(step: string): string {
    return [...this.#steps, `${step} since ${this.#timestamp().slice(11, 19)} UTC`].join(', ');
  }

  /** Takes over an instance of an earlier ephd: goes on with its process if that is still there, and starts it again if not. */
  resume(found: ProcessIdentity | undefined): void {
    if (this.#lookedAfter || this.#over) return;
    this.#context.rotation.watch(this.log);
    if (found !== undefined) {
      this.#record = { ...this.#record, process: found };
      return this.#lookAfter({ identity: found, child: undefined });
    }
    if (this.#record.readyAt !== null)
      this.#setHealth('failing', 'It was not running when ephd started, and is being started again.');
    else if (this.#record.service.prepare !== undefined) this.#showStep('prepare runs');
    this.#restarts += 1;
    this.#lookAfter(undefined);
  }

  /** Runs a command beside its process. */
  async exec(request: ExecRequest): Promise<ExecSession> {
    const record = this.#record;
    const { process: holder, service, network } = record;
    const { sessions, processes } = this.#context;
    if (this.#over || holder === null || !isRunning(processes, holder))
      throw new EphError('component.not_ready', `${this.#host.name} does not run at the moment; its log says why.`);
    return await sessions.start(
      {
        component: this.#host.name,
        marker: this.marker,
        holder,
        hasOwnNetwork: network !== undefined,
        directory: service.directory ?? '.',
        variables: this.#host.variablesOf(record),
        limit: () => this.#host.limitExec(record),
        life: this.#life.signal,
      },
      request,
    );
  }

  /** Connects to a port that its processes listen on. A network of its own is open to the outside on one port only. */
  async connect(port: number, signal: AbortSignal): Promise<Socket> {
    const { process: holder, network, port: own } = this.#record;
    const { processes } = this.#context;
    const { name } = this.#host;
    signal.throwIfAborted();
    if (this.#over || holder === null || !isRunning(processes, holder))
      throw new EphError('component.not_ready', `${name} does not run at the moment; its log says why.`);
    if (network !== undefined && port !== own)
      throw new EphError(
        'feature.unavailable',
        `${name} has a network of its own, which is open on port ${own} only. Connect to that one.`,
      );
    const life = this.#life.signal;
    const isOpen = network === undefined ? await this.#listensOn(port) : await this.#hasTraffic(holder);
    if (!isOpen) throw notListening(name, port);
    return await connectPort(name, port, signal, life);
  }

  async #listensOn(port: number): Promise<boolean> {
    const { processes, listeners } = this.#context;
    const own = (await processes.readAll()).filter(({ marker }) => marker === this.marker);
    return await listeners.areAlone(
      port,
      own.map(({ pid }) => pid),
    );
  }

  async #hasTraffic({ pid: holder }: ProcessIdentity): Promise<boolean> {
    const { port } = this.#record;
    const owner = { port, holder, hasOwnNetwork: true, mustListen: true, known: undefined };
    return (await this.#context.listeners.findFault(owner)) === undefined;
  }

  /** Stops looking after it. Its process goes on. */
  letGo(): void {
    this.#over = true;
    this.#life.abort();
    this.#end('');
  }

  /** Ends its processes for good. */
  async stop(why: string): Promise<void> {
    if (this.#over) return;
    this.#setHealth('failing', why);
    this.letGo();
    await this.#endProcesses(new AbortController().signal);
  }

  /** Nothing of it runs any more. */
  release(): void {
    // Its port may have a new owner when this is said again.
    if (this.#released) return;
    this.#released = true;
    this.#context.rotation.unwatch(this.log);
    this.#context.ports.release(this.#record.port);
  }

  #lookAfter(running: Running | undefined): void {
    this.#lookedAfter = true;
    this.#keepRunning(running).catch((error: unknown) => {
      this.#context.log.warn({ instance: this.marker, error: sentence(error) }, 'an instance is no longer looked after');
    });
  }

  async #keepRunning(first: Running | undefined): Promise<void> {
    const { restartFirstMs, restartMaxMs, goodLifeMs } = this.#context.limits;
    let running = first ?? (await this.#start());
    let delay = restartFirstMs;
    while (!this.#over) {
      if (running !== undefined) {
        const since = performance.now();
        const ending = await this.#attend(running);
        if (this.#over) return;
        this.#life = new AbortController();
        if (performance.now() - since >= goodLifeMs) delay = restartFirstMs;
        await this.#reportEnd(ending);
      }
      if (this.#isStalled) return;
      await pause(delay, this.#life.signal);
      delay = Math.min(delay * 2, restartMaxMs);
      this.#restarts += 1;
      if (!this.#over) running = await this.#start();
    }
  }

  /** Starts the process again, after whatever is left of the one before is gone: nothing runs twice. */
  async #start(): Promise<Running | undefined> {
    try {
      await this.#endProcesses();
      const checkout = await this.#host.checkOut(this.#record, this.#life.signal);
      if (this.#health.health === 'starting') {
        this.#steps.push(...this.#host.describeSteps(this.#record));
        this.#showStep(started);
      }
      await this.#settlePort();
      return await this.#tryLaunch(checkout);
    } catch (error) {
      this.#failToStart(error);
      return undefined;
    }
  }

  #endProcesses(signal = this.#life.signal): Promise<number> {
    return endProcesses(this.#context.processes, {
      marker: this.marker,
      leaders: this.#record.process === null ? [] : [this.#record.process],
      graceMs: this.#context.limits.graceMs,
      signal,
    });
  }

  /**
   * Others know the port, so it stays if it can. A port on which it never got ready is given up: whoever is in the way there
   * need not be visible from here.
   */
  async #settlePort(): Promise<void> {
    const { port } = this.#record;
    if (this.#wasReadyOnPort && (await isFree(port))) return;
    const other = await this.#context.ports.choose();
    try {
      this.#save({ ...this.#record, port: other });
    } catch (error) {
      this.#context.ports.release(other);
      throw error;
    }
    this.#context.ports.release(port);
    this.#wasReadyOnPort = false;
  }

  async #tryLaunch(checkout: Checkout): Promise<Running | undefined> {
    if (this.#over) return undefined;
    const files: number[] = [];
    try {
      const home = this.#host.homeOf(this.#record.id);
      mkdirSync(home, { recursive: true, mode: 0o700 });
      const log = this.log.openForService();
      files.push(log);
      const { service, port } = this.#record;
      const variables = this.#host.variablesOf(this.#record);
      const confined = confine(this.#context, this.#record, { command: service.command, checkout, home, variables, port });
      if (confined.input !== undefined) files.push(confined.input);
      const limits = this.#host.limit(this.#record);
      const record = (identity: ProcessIdentity) => this.#save({ ...this.#record, process: identity });
      return await launch({ command: confined, log, limits }, this.#context.processes, record);
    } catch (error) {
      this.#failToStart(error);
      return undefined;
    } finally {
      for (const file of files) closeSync(file);
    }
  }

  #save(record: InstanceRecord): void {
    this.#host.save(record);
    this.#record = record;
  }

  /**
   * Watches one process until it ends, or until this instance is over; says how it ended. No async function: there is one for each process
   * that runs, and a service that is only waited for should cost no more than its promise.
   */
  #attend({ identity, child }: Running): Promise<string> {
    const life = this.#life;
    // Earlier versions and earlier starts count in the same place.
    this.#memoryKills = this.#host.countMemoryKills();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const end = (how: string): void => {
      watched?.[Symbol.dispose]();
      life.abort();
      resolve(how);
    };
    const watched = child === undefined ? this.#context.monitor.onGone(identity, () => end(endedUnseen)) : undefined;
    child?.once('exit', (code, signal) => end(describeEnd(code, signal, identity.isSandboxed === true)));
    this.#end = end;
    watchReadiness(this.#readinessWatch(identity), life.signal).catch(reject);
    return promise;
  }

  #readinessWatch({ isSandboxed = false, pid: holder }: ProcessIdentity): Parameters<typeof watchReadiness>[0] {
    const { service, port, network } = this.#record;
    const mustListen = service.ready.kind === 'tcp';
    const owner = { port, holder, hasOwnNetwork: network !== undefined, mustListen, known: undefined };
    return {
      // Without a sandbox, a service may leave its port to a program that it has started elsewhere, such as a container.
      findFault: () => (isSandboxed ? this.#context.listeners.findFault(owner) : Promise.resolve(undefined)),
      service,
      port,
      limits: this.#context.limits,
      serving: this.#health.health === 'ready',
      ready: () => this.#becomeReady(),
      notReady: (why) => this.#fail(why),
    };
  }

  #becomeReady(): boolean {
    const now = this.#timestamp();
    if (this.#record.readyAt === null) {
      const promoted = { ...this.#record, readyAt: now };
      if (!this.#host.promote(promoted)) return false;
      this.#record = promoted;
    }
    this.#wasReadyOnPort = true;
    this.#setHealth('ready', '', now);
    return true;
  }

  /** What the process left behind goes at once: it may hold the port, and must not be taken for the service. */
  async #reportEnd(observed: string): Promise<void> {
    let ending = observed;
    try {
      const [hint] = this.log.readLastLines(1);
      const kills = this.#host.countMemoryKills();
      if (kills > this.#memoryKills) ending = 'It was ended because its environment used all the memory that it may use.';
      const said = [ending, ...(hint === undefined ? [] : [`Its last line was: ${hint}`])];
      this.#lastEnd = redact(said.join(' '));
      this.#fail(said.join(' '));
      const left = await this.#endProcesses();
      if (left > 0)
        this.#fail(['It left processes in the background, which were ended: run it in the foreground.', ...said].join(' '));
    } catch (error) {
      this.#fail(sentence(error));
    }
  }

  #fail(message: string): void {
    if (!this.#over) this.#setHealth('failing', message);
  }

  #failToStart(error: unknown): void {
    this.#isStalled = error instanceof PreparationFailed;
    if (this.#isStalled) return this.#fail(sentence(error));
    const why = isDiskFull(error) ? 'the disk that holds the data folder is full. Free some space.' : sentence(error);
    this.#fail(`It could not be started: ${why}`);
  }

  #setHealth(health: Health, words: string, now = this.#timestamp()): void {
    const message = redact(words);
    if (this.#health.health === health && this.#health.message === message) return;
    const since = this.#health.health === health ? this.#health.since : now;
    this.#health = { health, message, since };
    this.#host.changed();
  }

  #timestamp(): string {
    return new Date(this.#context.now()).toISOString();
  }
}
