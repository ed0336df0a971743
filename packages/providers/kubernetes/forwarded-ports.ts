import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ComponentName, type EnvironmentId, EphError, isEphError, type Log, silentLog, toFailure } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { listAt, numberAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { type ComponentPods, findReadyPods, nameOfPod } from './component-pods.ts';

export interface ForwardTarget {
  readonly environment: EnvironmentId;
  readonly component: ComponentName;
  /** Of the pods: a number, or the name of a port of their containers. */
  readonly port: number | string;
}

type ForwardCluster = { readonly pods: Pick<Cluster['pods'], 'connect'> };

const loopback = '127.0.0.1';
/** A visitor who has left without a word, or a connection that a proxy keeps for later. */
const idleMs = 10 * 60_000;
/** What is sent before the pod has answered is kept so long, to send it to another pod. */
const keptBytes = 64 * 1024;
const most = 1_000;

/**
 * Ports of loopback that lead to components of a cluster, for an ephd outside of it. The port of a component stays the same; whoever
 * connects reaches a pod that is ready then, through the API server. Nothing is connected before somebody is. A connection that is kept for
 * several requests goes on to another pod when its own is about to end: whoever keeps it would otherwise lose a request that was on its way.
 */
export class ForwardedPorts implements AsyncDisposable {
  readonly #cluster: ForwardCluster;
  readonly #pods: ComponentPods;
  readonly #log: Log;
  readonly #ports = new Map<string, ForwardedPort>();

  constructor(cluster: ForwardCluster, pods: ComponentPods, log: Log = silentLog) {
    this.#cluster = cluster;
    this.#pods = pods;
    this.#log = log;
  }

  /** The same for a key until that is closed. What it leads to may change. */
  async urlFor(key: string, target: ForwardTarget): Promise<string> {
    let port = this.#ports.get(key);
    if (port === undefined) {
      port = new ForwardedPort(this.#cluster, this.#pods, target, this.#log);
      this.#ports.set(key, port);
    }
    port.target = target;
    try {
      return `http://${loopback}:${await port.listening}`;
    } catch (error) {
      if (this.#ports.get(key) === port) this.#ports.delete(key);
      throw new EphError('port.unavailable', 'No port of this machine is free to forward to the cluster.', { cause: error });
    }
  }

  closeAllBut(keys: ReadonlySet<string>): void {
    for (const [key, port] of this.#ports)
      if (!keys.has(key)) {
        this.#ports.delete(key);
        void port.close();
      }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#ports.values()];
    this.#ports.clear();
    await Promise.all(all.map((port) => port.close()));
  }
}

class ForwardedPort {
  target: ForwardTarget;
  readonly listening: Promise<number>;
  readonly #cluster: ForwardCluster;
  readonly #pods: ComponentPods;
  readonly #log: Log;
  readonly #server: Server;
  readonly #closed = new AbortController();
  /** With the pod that each leads to, once one has taken it. */
  readonly #visitors = new Map<Socket, string | undefined>();
  /** Takes turns. */
  #turn = 0;
  #stopListening: (() => void) | undefined;

  constructor(cluster: ForwardCluster, pods: ComponentPods, target: ForwardTarget, log: Log) {
    this.#cluster = cluster;
    this.#pods = pods;
    this.target = target;
    this.#log = log;
    // Whoever has sent everything still waits for the answer.
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (visitor) =>
      this.#receive(visitor),
    );
    this.#server.maxConnections = most;
    this.#server.listen(0, loopback);
    this.listening = once(this.#server, 'listening').then(() => {
      // One that cannot accept now may later.
      this.#server.on('error', (error) => this.#log.warn({ error: error.message }, 'a forwarded port could not accept'));
      return (this.#server.address() as AddressInfo).port;
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const visitor of this.#visitors.keys()) visitor.destroy();
    await this.listening.catch(() => undefined);
    if (!this.#server.listening) return;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #receive(visitor: Socket): void {
    if (this.#closed.signal.aborted) return void visitor.destroy();
    this.#visitors.set(visitor, undefined);
    this.#stopListening ??= this.#pods.listen(this.target.environment, () => this.#endStranded());
    visitor.setTimeout(idleMs, () => visitor.destroy());
    visitor.on('error', () => undefined);
    visitor.once('close', () => {
      this.#visitors.delete(visitor);
      if (this.#visitors.size > 0) return;
      this.#stopListening?.();
      this.#stopListening = undefined;
    });
    void this.#serve(visitor).catch((error: unknown) => {
      if (!visitor.destroyed) this.#log.debug({ error: toFailure(error).message }, 'a forwarded connection failed');
      visitor.resetAndDestroy();
    });
  }

  async #serve(visitor: Socket): Promise<void> {
    let tried = new Set<string>();
    let kept: readonly Buffer[] = [];
    for (;;) {
      const pod = this.#choosePod(tried);
      const uid = pod.metadata.uid ?? '';
      tried.add(uid);
      const connection = await this.#connect(pod).catch((error: unknown) => {
        if (visitor.destroyed || this.#closed.signal.aborted || !this.#hasOther(tried)) throw error;
        return undefined;
      });
      if (connection === undefined) continue;
      if (visitor.destroyed) return void connection.destroy();
      this.#visitors.set(visitor, uid);
      const unserved = await join(visitor, connection, kept, () => this.#isLeaving(uid));
      if (unserved === undefined) return;
      if (unserved.error === undefined) tried = new Set([uid]);
      else if (!this.#hasOther(tried)) throw unserved.error;
      kept = unserved.sent;
    }
  }

  #connect(pod: KubeObject): Promise<Duplex> {
    const port = findPort(pod, this.target.port);
    if (port === undefined)
      throw new EphError('component.not_ready', `No container of pod ${pod.metadata.name} has a port ${this.target.port}.`);
    return this.#cluster.pods.connect(nameOfPod(pod), port, this.#closed.signal);
  }

  get #ready(): readonly KubeObject[] {
    const { environment, component } = this.target;
    return findReadyPods(this.#pods.podsOf(environment, component) ?? []);
  }

  /** It gets no more traffic, and others do. */
  #isLeaving(pod: string): boolean {
    const ready = this.#ready;
    return ready.length > 0 && ready.every(({ metadata }) => metadata.uid !== pod);
  }

  #hasOther(tried: ReadonlySet<string>): boolean {
    return this.#ready.some(({ metadata }) => !tried.has(metadata.uid ?? ''));
  }

  #choosePod(tried: ReadonlySet<string>): KubeObject {
    const untried = this.#ready.filter(({ metadata }) => !tried.has(metadata.uid ?? ''));
    this.#turn += 1;
    const chosen = untried[this.#turn % Math.max(untried.length, 1)];
    if (chosen !== undefined) return chosen;
    throw new EphError('component.not_ready', `No pod of ${this.target.component} is ready.`);
  }

  /** A node that is gone says nothing. */
  #endStranded(): void {
    const { environment, component } = this.target;
    const present = new Set((this.#pods.podsOf(environment, component) ?? []).map(({ metadata }) => metadata.uid));
    for (const [visitor, uid] of this.#visitors) if (uid !== undefined && !present.has(uid)) visitor.destroy();
  }
}

const findPort = (pod: KubeObject, port: number | string): number | undefined => {
  if (typeof port === 'number') return port;
  const ports = listAt(pod, 'spec', 'containers').flatMap((container) => listAt(container, 'ports'));
  return numberAt(
    ports.find((one) => textAt(one, 'name') === port),
    'containerPort',
  );
};

/** What a visitor sent that another pod can have. */
interface Unserved {
  /** Absent where the pod is about to end. */
  readonly error?: Error;
  /** None of which came anywhere. */
  readonly sent: readonly Buffer[];
}

/** How a request begins, which the gateway sends in one piece. */
const requestStart = /^[A-Z]{1,20} \S{1,8000} HTTP\/1\.1\r\n/;

/**
 * Passes bytes on both ways until both have ended, and returns undefined. The pod may also turn out not to listen at all, or be about to end
 * when an answered visitor sends the next request: then another can have what was sent, as long as that is kept.
 */
const join = (
  visitor: Socket,
  connection: Duplex,
  first: readonly Buffer[],
  isLeaving: () => boolean,
): Promise<Unserved | undefined> => {
  const { promise, resolve, reject } = Promise.withResolvers<Unserved | undefined>();
  let kept: Buffer[] | undefined = [];
  let length = 0;
  let isAnswered = false;
  const send = (chunk: Buffer): void => {
    if (isAnswered && isRequest(chunk) && isLeaving()) return leaveWith(chunk);
    isAnswered = false;
    length += chunk.length;
    if (length > keptBytes) kept = undefined;
    kept?.push(chunk);
    if (!connection.write(chunk)) visitor.pause();
  };
  const resume = (): void => void visitor.resume();
  const end = (): void => void connection.end();
  const leave = (): void => void connection.destroy();
  const release = (): void => {
    visitor.off('data', send).off('end', end).off('close', leave).off('drain', drained).pause();
  };
  const drained = (): void => void connection.resume();
  const leaveWith = (request: Buffer): void => {
    release();
    connection.off('close', closed).destroy();
    resolve({ sent: [request] });
  };
  visitor.on('data', send).once('end', end).once('close', leave).on('drain', drained);
  connection.on('drain', resume);
  connection.on('data', (chunk: Buffer) => {
    kept = undefined;
    isAnswered = true;
    if (!visitor.write(chunk)) connection.pause();
  });
  connection.once('end', () => visitor.end());
  connection.once('error', (error: Error) => {
    release();
    if (kept !== undefined && isEphError(error) && error.code === 'component.not_ready') resolve({ error, sent: kept });
    else reject(error);
  });
  const closed = (): void => {
    // After an error, this says nothing more.
    resolve(undefined);
    if (connection.errored === null) visitor.destroySoon();
  };
  connection.once('close', closed);
  for (const chunk of first) send(chunk);
  if (visitor.readableEnded) end();
  else visitor.resume();
  return promise;
};

const isRequest = (chunk: Buffer): boolean => requestStart.test(chunk.toString('latin1', 0, 8_100));
