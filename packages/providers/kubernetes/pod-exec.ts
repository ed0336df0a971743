import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type ComponentName, type EnvironmentId, EphError, findMainContainer, isEphError, type JsonValue } from '@eph/contract';
import type { ExecRequest, ExecSession } from '@eph/engine/provider/provider';
import type { Cluster } from '@eph/kube/cluster';
import { listAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import type { PodName } from '@eph/kube/pod-path';
import { begun, endCommand, wrapCommand } from './command-script.ts';
import { type ComponentPods, findRunningPods, nameOfPod, requirePods } from './component-pods.ts';

type ExecCluster = { readonly pods: Pick<Cluster['pods'], 'exec'>; readonly client: Pick<Cluster['client'], 'get'> };

interface Place {
  readonly pod: PodName;
  readonly uid: string | undefined;
  readonly container: string;
}

const endLimitMs = 15_000;
const endAgainMs = 300;
/** As a shell shows what SIGKILL ended. */
const killed = 137;

/**
 * Runs a command in the main container of the newest pod that is ready. An image without a shell can run commands, too, but then nothing
 * can end them, except their terminal or the end of their input: `exited` rejects when such a command is aborted.
 */
export const execInComponent = async (
  cluster: ExecCluster,
  pods: ComponentPods,
  environment: EnvironmentId,
  component: ComponentName,
  request: ExecRequest,
): Promise<ExecSession> => {
  checkRequest(request);
  request.signal.throwIfAborted();
  const [pod] = findRunningPods(requirePods(pods, environment, component));
  if (pod === undefined)
    throw new EphError('component.not_ready', `No pod of ${component} runs at the moment; its log says why.`);
  const place = { pod: nameOfPod(pod), uid: pod.metadata.uid, container: findContainer(pod, component) };
  const command = new Command(cluster, place, component, request);
  return await command.start();
};

const checkRequest = ({ command, terminal }: ExecRequest): void => {
  const texts = [...command, terminal?.type ?? ''];
  const sizes = terminal === undefined ? [] : [terminal.columns, terminal.rows];
  if (command.length > 0 && !texts.some((one) => one.includes('\0')) && sizes.every(Number.isSafeInteger)) return;
  throw new EphError('api.bad_request', 'A command needs a program, no NUL characters, and a terminal with a size.');
};

const findContainer = (pod: KubeObject, component: ComponentName): string => {
  const containers = listAt(pod, 'spec', 'containers');
  return textAt(containers[findMainContainer(containers as readonly JsonValue[], component)], 'name') ?? component;
};

/** One command, from its start until nothing of it runs. */
class Command {
  readonly #cluster: ExecCluster;
  readonly #place: Place;
  readonly #component: ComponentName;
  readonly #request: ExecRequest;
  readonly #id = randomBytes(12).toString('hex');
  /** Of the connection, which goes on until the command has been ended. */
  readonly #connected = new AbortController();
  #hasShell = true;

  constructor(cluster: ExecCluster, place: Place, component: ComponentName, request: ExecRequest) {
    this.#cluster = cluster;
    this.#place = place;
    this.#component = component;
    this.#request = request;
  }

  async start(): Promise<ExecSession> {
    const { command, terminal, signal } = this.#request;
    const session = await this.#exec(wrapCommand(this.#id, command, terminal), terminal);
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => undefined);
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([untilBegun(session), aborted.promise]);
      return this.#follow(session);
    } catch (error) {
      if (signal.aborted) void this.#end(session).catch(() => undefined);
      if (signal.aborted || !isWithoutShell(error)) throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    this.#hasShell = false;
    return this.#follow(await this.#exec(command, terminal));
  }

  #exec(command: readonly string[], terminal?: ExecRequest['terminal']): Promise<ExecSession> {
    const { pod, container } = this.#place;
    return this.#cluster.pods.exec(pod, { container, command, ...(terminal && { terminal }) }, this.#connected.signal);
  }

  #follow(session: ExecSession): ExecSession {
    const { signal } = this.#request;
    const { promise: exited, resolve, reject } = Promise.withResolvers<number>();
    // It may end before anybody asks.
    exited.catch(() => undefined);
    const abort = (): void => void this.#end(session).then(resolve, reject);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    session.exited
      .catch((error: unknown) => this.#explain(error))
      .then(
        (code) => !signal.aborted && resolve(code),
        (error: unknown) => !signal.aborted && reject(error),
      )
      .finally(() => signal.removeEventListener('abort', abort));
    return { ...session, exited };
  }

  /** Nobody reads or writes any more, and nothing of it shall run. */
  async #end(session: ExecSession): Promise<number> {
    const { input, output, errors } = session;
    for (const one of [input, output, errors]) one.on('error', () => undefined).destroy();
    let isOver = false;
    const ended = session.exited.catch((error: unknown) => this.#explain(error)).finally(() => (isOver = true));
    ended.catch(() => undefined);
    try {
      const deadline = performance.now() + endLimitMs;
      while (this.#hasShell && performance.now() < deadline) {
        await this.#kill();
        if (isOver) return await ended;
        await Promise.race([ended, pause(endAgainMs, undefined, { ref: false })]);
      }
    } catch (error) {
      // With its pod, it has ended.
      return await this.#explain(error);
    } finally {
      this.#connected.abort();
    }
    throw new EphError('component.not_ready', this.#cannotEnd());
  }

  async #kill(): Promise<void> {
    const { input, output, errors, exited } = await this.#exec(endCommand(this.#id));
    input.end();
    output.resume();
    errors.resume();
    await exited;
  }

  /** What runs in a pod ends with that, whether or not the node could still say so. */
  async #explain(error: unknown): Promise<number> {
    const { pod, uid } = this.#place;
    const kind = { apiVersion: 'v1', kind: 'Pod' };
    const found = await this.#cluster.client.get(kind, pod, AbortSignal.timeout(endLimitMs)).catch(() => 'unknown' as const);
    if (found === 'unknown') throw error;
    if (found === undefined || found.metadata.uid !== uid || found.metadata.deletionTimestamp !== undefined) return killed;
    throw error;
  }

  #cannotEnd(): string {
    const { pod, container } = this.#place;
    const why = this.#hasShell ? 'it did not end in time' : 'the image has no shell that could end it';
    return `The command in ${container} of pod ${pod.name} of ${this.#component} may go on until the pod ends: ${why}.`;
  }
}

/** Takes what the script prints first off the output. Rejects if the script could not run. */
const untilBegun = async ({ output, exited }: ExecSession): Promise<void> => {
  const isReadable = once(output, 'readable').then(() => true);
  isReadable.catch(() => undefined);
  if (!(await Promise.race([isReadable, exited.then(() => output.readableLength > 0)]))) return;
  const bytes = output.read() as Buffer | null;
  if (bytes !== null) output.unshift(bytes[0] === begun ? bytes.subarray(1) : bytes);
};

/** In the words of the container runtime, which come through the node. */
const isWithoutShell = (error: unknown): boolean =>
  isEphError(error) &&
  error.code === 'component.not_ready' &&
  /"sh": (?:executable file not found|stat )|exec: "?sh"?: /.test(error.message);
