import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import {
  type ComponentName,
  EphError,
  type Identity,
  type ObservedComponent,
  type Part,
  type ProviderName,
  type ResolvedComponent,
} from '@eph/contract';
import type { ExecRequest, ExecSession } from '@eph/engine/provider/provider';
import type { Place } from './cgroups.ts';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import { openLimits } from './environment-limits.ts';
import { sentence } from './faults.ts';
import type { PartLog } from './follow-logs.ts';
import { Instance, type InstanceHost } from './instance.ts';
import { loopback } from './ports.ts';
import { checkoutOf, type Preparations } from './preparations.ts';
import { isRunning, type ProcessIdentity, type RunningProcess } from './processes.ts';
import { type ComponentRecord, type InstanceRecord, instanceId, type PreparationRecord, writeRecord } from './records.ts';
import type { Service } from './service.ts';
import { computeServiceEnvironment } from './service-environment.ts';
import type { ExecLimits } from './session.ts';
import { type Checkout, resolveDirectory, type Trees } from './trees.ts';

interface Versions {
  readonly current: Instance | null;
  readonly next: Instance | null;
  readonly retiring: readonly Instance[];
}

export interface ComponentHost {
  readonly identity: Identity;
  readonly trees: Trees;
  readonly preparations: Preparations;
}

/** What the part of a component that prepares its checkout is called. */
const preparationName = 'prepare';

export class Component implements InstanceHost {
  readonly name: ComponentName;
  readonly #context: Context;
  readonly #environment: ComponentHost;
  #versions: Versions;

  constructor(context: Context, environment: ComponentHost, record: ComponentRecord) {
    this.name = record.name;
    this.#context = context;
    this.#environment = environment;
    const instance = (one: InstanceRecord): Instance => new Instance(context, this, one);
    this.#versions = {
      current: record.current && instance(record.current),
      next: record.next && instance(record.next),
      retiring: record.retiring.map(instance),
    };
  }

  /** Oldest first. */
  get instances(): readonly Instance[] {
    const { current, next, retiring } = this.#versions;
    return [...retiring, current, next].filter((one) => one !== null);
  }

  get checkouts(): readonly string[] {
    return this.instances.map((one) => checkoutOf(one.record));
  }

  /** Those of its checkouts that are prepared. */
  get #preparedCheckouts(): readonly string[] {
    const prepared = this.instances.filter(({ record }) => record.service.prepare !== undefined);
    return [...new Set(prepared.map(({ record }) => checkoutOf(record)))];
  }

  /** What its versions write, and what prepared their checkouts wrote before. */
  get logs(): readonly PartLog[] {
    const { preparations } = this.#environment;
    return [
      ...this.#preparedCheckouts.map((one) => ({ part: preparationName, shared: one, log: preparations.logOf(one) })),
      ...this.instances.map(({ record, log }) => ({ part: record.id, log })),
    ];
  }

  /** What the versions before wrote. The starts of one version share a log, which does not tell them apart. */
  get previousLogs(): readonly PartLog[] {
    return this.#versions.retiring.map(({ record, log }) => ({ part: record.id, log }));
  }

  get #parts(): readonly Part[] {
    const { preparations } = this.#environment;
    return [
      ...this.#preparedCheckouts.map((one) => ({
        instance: preparationName,
        image: null,
        restarts: 0,
        message: describePreparation(preparations.read(one)),
      })),
      ...this.instances.map((one) => one.part),
    ];
  }

  /** An instance without a recorded process can still be found by its marker. */
  get needsMarkers(): boolean {
    return this.instances.some((one) => one.record.process === null);
  }

  resume(running: readonly RunningProcess[]): void {
    const { current, next, retiring } = this.#versions;
    for (const one of [current, next]) one?.resume(this.#findProcess(one, running));
    for (const one of retiring) this.#context.rotation.watch(one.log);
  }

  #findProcess({ record, marker }: Instance, running: readonly RunningProcess[]): ProcessIdentity | undefined {
    const { processes } = this.#context;
    if (record.process !== null) return isRunning(processes, record.process) ? record.process : undefined;
    const own = running.filter((one) => one.marker === marker);
    const [leader, ...others] = own.filter(({ isInside, session, pid }) => !isInside && session === pid);
    if (leader === undefined || others.length > 0) return undefined;
    const isSandboxed = own.some(({ isInside }) => isInside);
    return { pid: leader.pid, startTime: leader.startTime, bootId: processes.bootId, ...(isSandboxed && { isSandboxed }) };
  }

  observe(provider: ProviderName, parts: boolean): ObservedComponent {
    const { current, next, retiring } = this.#versions;
    const outputs = current === null ? {} : outputsOf(current.record.port);
    const { entry = false, dependsOn = [] } = (current ?? next ?? retiring.at(-1))?.record ?? {};
    return {
      name: this.name,
      provider,
      entry,
      dependsOn,
      current: current?.version ?? null,
      next: next?.version ?? null,
      retiring: retiring.length > 0,
      upstream: outputs['url'] ?? null,
      outputs,
      ...(parts && { parts: this.#parts }),
    };
  }

  /** A version that does not get ready can be examined too, if none serves. */
  async exec(request: ExecRequest): Promise<ExecSession> {
    const instance = this.#versions.current ?? this.#versions.next;
    if (instance === null) throw new EphError('component.not_ready', `${this.name} does not run yet.`);
    return await instance.exec(request);
  }

  async connect(port: number, signal: AbortSignal): Promise<Socket> {
    const instance = this.#versions.current ?? this.#versions.next;
    if (instance === null) throw new EphError('component.not_ready', `${this.name} does not run yet.`);
    return await instance.connect(port, signal);
  }

  async ensure(wanted: ResolvedComponent, service: Service, signal: AbortSignal): Promise<void> {
    const { current, next, retiring } = this.#versions;
    if (current?.record.revision === wanted.revision) {
      if (next !== null) this.#change({ current, next: null, retiring: [...retiring, next] });
      return this.#endRetiring(this.#versions.retiring, signal);
    }
    if (next?.record.revision !== wanted.revision) await this.#begin(wanted, service, signal);
    // A version that was replaced before it served cannot be in use.
    await this.#endRetiring(
      this.#versions.retiring.filter((one) => one.record.readyAt === null),
      signal,
    );
  }

  /** Starts a new version. One that was not ready yet is retired. */
  async #begin(wanted: ResolvedComponent, service: Service, signal: AbortSignal): Promise<void> {
    const { trees, preparations } = this.#environment;
    const name = checkoutOf({ commit: wanted.commit, service });
    using _pin = trees.pin(name);
    const began = performance.now();
    const tree = await trees.ensure(name, wanted.commit, signal);
    const checkoutSeconds = (performance.now() - began) / 1000;
    const isPrepared = service.prepare === undefined || preparations.read(name)?.state === 'finished';
    const checkout = isPrepared ? resolveDirectory(tree, service.directory ?? '.') : undefined;
    const port = await this.#context.ports.choose();
    try {
      signal.throwIfAborted();
      const { current, next: obsolete, retiring } = this.#versions;
      const next = new Instance(this.#context, this, this.#newRecord(wanted, service, port));
      this.#change({ current, next, retiring: obsolete === null ? retiring : [...retiring, obsolete] });
      await next.begin(checkout, checkoutSeconds);
    } catch (error) {
      this.#context.ports.release(port);
      throw error;
    }
  }

  #newRecord(wanted: ResolvedComponent, service: Service, port: number): InstanceRecord {
    return {
      id: randomBytes(4).toString('hex'),
      revision: wanted.revision,
      commit: wanted.commit,
      ...(wanted.images && { images: wanted.images }),
      entry: wanted.entry,
      dependsOn: wanted.dependsOn,
      service,
      port,
      ...(wanted.network && { network: wanted.network }),
      ...(wanted.fromFork && { fromFork: true }),
      ...(wanted.budget && { budget: wanted.budget }),
      isConfined: this.#context.sandbox.isolation.state === 'sandboxed',
      createdAt: new Date(this.#context.now()).toISOString(),
      readyAt: null,
      process: null,
    };
  }

  markerOf(instance: string): string {
    return this.#context.layout.marker(this.#environment.identity.id, this.name, instance);
  }

  logPathOf(instance: string): string {
    return this.#context.layout.log(this.#environment.identity.id, this.name, instance);
  }

  homeOf(instance: string): string {
    return this.#context.layout.home(this.#environment.identity.id, this.name, instance);
  }

  async checkOut(record: InstanceRecord, signal: AbortSignal): Promise<Checkout> {
    const { trees, preparations } = this.#environment;
    const { commit, service } = record;
    const tree =
      service.prepare === undefined
        ? await trees.ensure(checkoutOf(record), commit, signal)
        : await preparations.ensure(record, service.prepare, signal);
    return resolveDirectory(tree, service.directory ?? '.');
  }

  variablesOf({ id, service, port, images = {} }: InstanceRecord): Record<string, string> {
    const { identity } = this.#environment;
    const secretOf = (name: string): string | undefined => this.#context.secretOf(identity.project, name);
    const url = this.#context.urlOf(identity);
    const image = Object.values(images)[0]?.reference;
    return computeServiceEnvironment(this.#context.variables, service, { marker: this.markerOf(id), port, image, secretOf, url });
  }

  describeSteps(record: InstanceRecord): readonly string[] {
    const prepared = this.#environment.preparations.read(checkoutOf(record));
    return prepared?.state === 'finished' ? [`prepare took ${describeDuration(prepared)}`] : [];
  }

  limit({ service, budget }: InstanceRecord): readonly string[] {
    return openLimits(this.#context, this.#place, service, budget);
  }

  limitExec({ service, budget }: InstanceRecord): ExecLimits {
    const place = { ...this.#place, component: `${this.name}.exec-${randomBytes(4).toString('hex')}` };
    const files = openLimits(this.#context, place, service, budget);
    return { files, close: () => this.#context.cgroups.close(place) };
  }

  countMemoryKills(): number {
    return this.#context.cgroups.countMemoryKills(this.#place);
  }

  get #place(): Place {
    return { environment: this.#environment.identity.id, component: this.name };
  }

  save(record: InstanceRecord): void {
    this.#write(this.#versions, record);
  }

  changed(): void {
    this.#context.changed(this.#environment.identity.id);
  }

  /** Makes the ready version current and retires the previous one in a single write, so that there is always a current one. */
  promote(ready: InstanceRecord): boolean {
    const { current, next, retiring } = this.#versions;
    if (next?.record.id !== ready.id) return false;
    const versions = { current: next, next: null, retiring: current === null ? retiring : [...retiring, current] };
    try {
      this.#write(versions, ready);
    } catch (error) {
      this.#context.log.warn({ component: this.name, error: sentence(error) }, 'a ready version could not take over yet');
      return false;
    }
    this.#versions = versions;
    current?.letGo();
    return true;
  }

  /** Ends all processes of this component. The caller removes the folder. */
  async end(signal: AbortSignal): Promise<void> {
    const retired = { current: null, next: null, retiring: this.instances };
    try {
      this.#change(retired);
    } catch (error) {
      // Removal must go on when the disk is full. If ephd dies now, the service is started once more until it is removed again.
      this.#context.log.warn({ component: this.name, error: sentence(error) }, 'could not record the removal of a component');
      this.#versions = retired;
    }
    await this.abandon(signal);
  }

  abandon(signal: AbortSignal): Promise<void> {
    return this.#endProcesses(this.instances, this.#context.layout.marker(this.#environment.identity.id, this.name), signal);
  }

  letGo(): void {
    for (const one of this.instances) one.letGo();
  }

  async #endRetiring(ending: readonly Instance[], signal: AbortSignal): Promise<void> {
    if (ending.length === 0) return;
    await Promise.all(ending.map((one) => this.#endProcesses([one], one.marker, signal)));
    const { current, next, retiring } = this.#versions;
    this.#change({ current, next, retiring: retiring.filter((one) => !ending.includes(one)) });
    await this.#collectFolders();
    await this.#environment.trees.collect();
  }

  /** Removes folders of ended instances, including those left over after a crash. */
  async #collectFolders(): Promise<void> {
    const { layout, scratch } = this.#context;
    const folder = layout.component(this.#environment.identity.id, this.name);
    const used = new Set(this.instances.map((one) => one.record.id));
    const unused = readdirSync(folder).filter((name) => instanceId.test(name) && !used.has(name));
    await Promise.all(unused.map((name) => scratch.discard(join(folder, name))));
  }

  async #endProcesses(ending: readonly Instance[], marker: string, signal: AbortSignal): Promise<void> {
    const { processes, limits } = this.#context;
    for (const one of ending) one.letGo();
    const leaders = ending.map((one) => one.record.process).filter((one) => one !== null);
    await endProcesses(processes, { marker, leaders, graceMs: limits.graceMs, signal });
    for (const one of ending) one.release();
  }

  #change(versions: Versions): void {
    this.#write(versions);
    this.#versions = versions;
    for (const one of versions.retiring) one.letGo();
    this.changed();
  }

  #write({ current, next, retiring }: Versions, latest?: InstanceRecord): void {
    const recordOf = (one: Instance): InstanceRecord => (latest?.id === one.record.id ? latest : one.record);
    const record: ComponentRecord = {
      name: this.name,
      current: current && recordOf(current),
      next: next && recordOf(next),
      retiring: retiring.map(recordOf),
    };
    writeRecord(this.#context.layout.componentRecord(this.#environment.identity.id, this.name), record, { durable: false });
  }
}

const describePreparation = (record: PreparationRecord | undefined): string => {
  if (record?.state === 'failed') return record.message;
  return record?.state === 'finished' ? `prepare took ${describeDuration(record)}` : 'prepare has not finished yet';
};

const describeDuration = ({ seconds, saved }: Extract<PreparationRecord, { state: 'finished' }>): string =>
  `${seconds.toFixed(1)} s${saved === undefined ? '' : ` (${saved.toFixed(1)} s less than without the package cache)`}`;

const outputsOf = (port: number): ObservedComponent['outputs'] => ({
  url: `http://${loopback}:${port}`,
  host: loopback,
  port: String(port),
});
