import { setTimeout as pause } from 'node:timers/promises';
import { type ComponentName, type EnvironmentId, isEphError } from '@eph/contract';
import type { LogEntry, LogOptions } from '@eph/engine/provider/provider';
import type { Cluster } from '@eph/kube/cluster';
import { fieldAt, listAt, numberAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { type ContainerLogOptions, computeLoggedContainers, type LogLine } from '@eph/kube/pod-log';
import type { PodName } from '@eph/kube/pod-path';
import { type ComponentPods, nameOfPod, requirePods } from './component-pods.ts';
import { LatestLines } from './latest-lines.ts';
import { Offers } from './offers.ts';

type LogCluster = { readonly pods: Pick<Cluster['pods'], 'log'> };

/** One start of a container, which writes one log. */
interface Run {
  readonly pod: PodName;
  readonly container: string;
  readonly part: string;
  /** Nobody else's. */
  readonly key: string;
  readonly state: 'waiting' | 'running' | 'ended';
  readonly hasPrevious: boolean;
}

const readAtOnce = 4;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * The lines of all pods of a component. What is there already is sorted by time; what comes later comes as it is read. A log
 * that cannot be read is left out, and while following asked for again, unless none can.
 */
export async function* followPodLogs(
  cluster: LogCluster,
  pods: ComponentPods,
  environment: EnvironmentId,
  component: ComponentName,
  { tail, since, follow, previous, signal }: LogOptions,
): AsyncGenerator<LogEntry> {
  const stopped = new AbortController();
  const either = AbortSignal.any([signal, stopped.signal]);
  const read = createRead(cluster, since, either);
  try {
    const runs = findRuns(requirePods(pods, environment, component));
    const past = new PastLines(read, tail, either);
    if (previous === true)
      await past.read(
        runs.filter(({ hasPrevious }) => hasPrevious),
        previous,
      );
    else if (tail > 0) await past.read(runs);
    for (const { part, line } of past.lines.all) yield { at: line.at, part, text: line.text };
    if (!follow || previous === true) return;
    const following = new Following(read, either);
    for (const run of runs) following.begin(run, { last: past.lastOf(run), isFromNow: tail === 0 });
    const update = (): void => {
      const present = pods.podsOf(environment, component);
      if (present === undefined) following.end();
      else following.update(findRuns(present));
    };
    const stop = pods.listen(environment, update);
    try {
      update();
      yield* following.entries();
    } finally {
      stop();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stopped.abort();
  }
}

type Read = (run: Run, options: ContainerLogOptions) => AsyncIterable<LogLine>;

/** Only the lines that are new enough: the API takes whole seconds. */
const createRead = (cluster: LogCluster, since: Date | undefined, signal: AbortSignal): Read =>
  async function* ({ pod, container }, options) {
    const from = options.since ?? since;
    const wanted = { ...options, ...(from !== undefined && { since: from }) };
    for await (const line of cluster.pods.log(pod, container, wanted, signal))
      if (since === undefined || (line.at !== null && Date.parse(line.at) >= since.getTime())) yield line;
  };

const findRuns = (pods: readonly KubeObject[]): readonly Run[] =>
  pods.flatMap((pod) => {
    const containers = computeLoggedContainers(pod);
    const name = nameOfPod(pod);
    return containers.map(({ name: container, hasPrevious }) => {
      const status = statusOf(pod, container);
      return {
        pod: name,
        container,
        part: containers.length === 1 ? name.name : `${name.name}/${container}`,
        key: [pod.metadata.uid, container, numberAt(status, 'restartCount') ?? 0].join(' '),
        state: stateOf(status),
        hasPrevious,
      };
    });
  });

const statusOf = (pod: KubeObject, container: string): unknown =>
  ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses']
    .flatMap((list) => listAt(pod, 'status', list))
    .find((status) => textAt(status, 'name') === container);

const stateOf = (status: unknown): Run['state'] => {
  if (fieldAt(status, 'state', 'running') !== undefined) return 'running';
  // One that waits to be started again counts as before.
  const ended = fieldAt(status, 'state', 'terminated') ?? fieldAt(status, 'lastState', 'terminated');
  return ended === undefined ? 'waiting' : 'ended';
};

/** What was written before. */
class PastLines {
  readonly lines: LatestLines;
  readonly #read: Read;
  readonly #tail: number;
  readonly #signal: AbortSignal;
  readonly #last = new Map<string, string>();

  constructor(read: Read, tail: number, signal: AbortSignal) {
    this.#read = read;
    this.#tail = tail;
    this.#signal = signal;
    this.lines = new LatestLines(tail);
  }

  lastOf({ key }: Run): string | undefined {
    return this.#last.get(key);
  }

  /** Throws if none could be read. */
  async read(runs: readonly Run[], previous = false): Promise<void> {
    const failed: unknown[] = [];
    const waiting = runs[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (const run of waiting)
        try {
          await this.#readRun(run, previous);
        } catch (error) {
          if (this.#signal.aborted) throw error;
          if (!isGone(error)) failed.push(error);
        }
    };
    await Promise.all(Array.from({ length: readAtOnce }, work));
    if (failed.length > 0 && failed.length === runs.length) throw failed[0];
  }

  async #readRun(run: Run, previous: boolean): Promise<void> {
    const own = new LatestLines(this.#tail);
    for await (const line of this.#read(run, { tail: this.#tail, previous })) {
      own.add({ part: run.part, line });
      if (line.stamp !== '') this.#last.set(run.key, line.stamp);
    }
    this.lines.merge(own);
  }
}

/** The pod, or its container, does not exist any more. */
const isGone = (error: unknown): boolean => isEphError(error) && error.code === 'object.missing';

interface Start {
  /** The stamp of the last line that was read. */
  readonly last: string | undefined;
  readonly isFromNow: boolean;
}

/** The logs that are followed now. */
class Following {
  readonly #read: Read;
  readonly #signal: AbortSignal;
  readonly #offers: Offers<LogEntry>;
  /** The runs that were followed, or had ended before, and are still listed. */
  readonly #begun = new Set<string>();
  #present: ReadonlyMap<string, Run> = new Map();

  constructor(read: Read, signal: AbortSignal) {
    this.#read = read;
    this.#signal = signal;
    this.#offers = new Offers(signal);
  }

  entries(): AsyncGenerator<LogEntry> {
    return this.#offers.taken();
  }

  /** The component is gone. */
  end(): void {
    this.#offers.end();
  }

  /** Where one is now that was read before. */
  begin(run: Run, start: Start): void {
    if (run.state === 'waiting') return;
    this.#begun.add(run.key);
    if (run.state === 'running') void this.#follow(run, start);
  }

  update(runs: readonly Run[]): void {
    this.#present = new Map(runs.map((run) => [run.key, run]));
    for (const key of this.#begun) if (!this.#present.has(key)) this.#begun.delete(key);
    for (const run of runs) {
      if (run.state === 'waiting' || this.#begun.has(run.key)) continue;
      this.#begun.add(run.key);
      void this.#follow(run, { last: undefined, isFromNow: false });
    }
  }

  /** Ends with the signal, and throws nothing. */
  async #follow(run: Run, { last: first, isFromNow }: Start): Promise<void> {
    let last = first;
    let delay = firstPauseMs;
    do {
      const before = last;
      try {
        const from = last === undefined ? isFromNow && { tail: 0 } : { since: toDate(last) };
        for await (const line of this.#read(run, { ...from, follow: true })) {
          if (isRepeated(line, last)) continue;
          await this.#offers.offer({ at: line.at, part: run.part, text: line.text });
          last = line.stamp || last;
        }
      } catch {
        // The node or the cluster is away; what was written meanwhile is read when it is back.
      }
      delay = last === before ? Math.min(delay * 2, longestPauseMs) : firstPauseMs;
      await pause(delay, undefined, { signal: this.#signal, ref: false }).catch(() => undefined);
    } while (!this.#signal.aborted && this.#present.get(run.key)?.state === 'running');
  }
}

/** The API takes whole seconds, so the lines of the first one come again. */
const toDate = (stamp: string): Date => new Date(Math.floor(Number(stamp)) * 1_000);

const isRepeated = ({ stamp }: LogLine, last: string | undefined): boolean => last !== undefined && stamp !== '' && stamp <= last;
