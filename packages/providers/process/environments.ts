import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type ComponentName, type EnvironmentId, EphError, type Failure, failure, type Identity } from '@eph/contract';
import type { Component } from './component.ts';
import type { Context } from './context.ts';
import { type Difference, Environment } from './environment.ts';
import { sentence } from './faults.ts';
import { readIds } from './layout.ts';
import { type EnvironmentRecord, emptyComponent, readEnvironment, writeRecord } from './records.ts';

/** How many are read between two turns of the event loop. */
const batch = 50;

const noDifference: Difference = { appeared: [], vanished: [] };

/**
 * All environments of a data folder. This provider is the only one that writes there, so memory is enough to answer; that
 * somebody takes folders away by hand is noticed all the same.
 */
export class Environments {
  readonly #context: Context;
  readonly #closed: AbortSignal;
  readonly #known = new Map<EnvironmentId, Environment>();
  /** The folder is there, but not whose it is. */
  readonly #unidentified = new Map<EnvironmentId, { readonly fault: Failure; readonly replaceable: boolean }>();
  /** Ends what still runs for folders that were taken away, by marker. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(context: Context, closed: AbortSignal) {
    this.#context = context;
    this.#closed = closed;
  }

  get all(): readonly Environment[] {
    return [...this.#known.values()];
  }

  get(id: EnvironmentId): Environment | undefined {
    return this.#known.get(id);
  }

  /** Reads what is new on disk and forgets what is gone; returns what could not be read. */
  async refresh(only?: EnvironmentId): Promise<readonly Failure[]> {
    const { layout } = this.#context;
    if (!existsSync(layout.sentinel)) {
      return [failure('provider.unreachable', `The data folder ${layout.root} is not there. Is its disk mounted?`)];
    }
    try {
      const present = new Set(
        only === undefined ? readIds(layout.root) : [only].filter((id) => existsSync(layout.environment(id))),
      );
      await this.#compare(present, only === undefined ? [...this.#known.keys(), ...this.#unidentified.keys()] : [only]);
    } catch (error) {
      return [failure('provider.unreachable', `The data folder ${layout.root} cannot be read: ${sentence(error)}.`)];
    }
    const unidentified = only === undefined ? [...this.#unidentified.values()] : [this.#unidentified.get(only)];
    return unidentified.filter((one) => one !== undefined).map((one) => one.fault);
  }

  async #compare(present: ReadonlySet<EnvironmentId>, remembered: readonly EnvironmentId[]): Promise<void> {
    for (const id of remembered) if (!present.has(id)) this.#forget(id);
    const appeared: Component[] = [];
    let count = 0;
    for (const id of present) {
      const difference = this.#read(id);
      appeared.push(...difference.appeared);
      for (const component of difference.vanished) this.#abandon(id, component);
      count += 1;
      if (count % batch === 0) await setImmediate();
    }
    await this.#resume(appeared);
  }

  #read(id: EnvironmentId): Difference {
    const environment = this.#known.get(id) ?? this.#identify(id);
    if (environment === undefined) return noDifference;
    const difference = environment.refresh();
    // Folders are made with their first component and removed with their last: an empty one was emptied by hand.
    if (environment.isLast()) this.#removeShell(id);
    return difference;
  }

  #identify(id: EnvironmentId): Environment | undefined {
    const { layout } = this.#context;
    const read = readEnvironment(layout.identity(id));
    if (read.state === 'read' && read.record.identity.id === id) return this.#keep(read.record);
    // Removed since the list of folders was read.
    if (!existsSync(layout.environment(id))) return undefined;
    // Emptied by the machine going down just after it was made, so nothing of it runs. It is made again if it is wanted.
    if (read.state === 'corrupt' && read.why === '') return this.#removeShell(id);
    const why =
      read.state === 'read' ? 'it names another environment' : read.state === 'absent' ? 'environment.json is missing' : read.why;
    const fault = failure(
      'provider.incomplete',
      `Whose environment ${layout.environment(id)} is cannot be read: ${why}. If it is not needed, remove the folder.`,
    );
    this.#unidentified.set(id, { fault, replaceable: read.state !== 'unreadable' });
    return undefined;
  }

  #keep(record: EnvironmentRecord): Environment {
    const { id } = record.identity;
    const environment = new Environment(this.#context, record);
    this.#known.set(id, environment);
    this.#unidentified.delete(id);
    return environment;
  }

  async #resume(components: readonly Component[]): Promise<void> {
    const running = components.some((one) => one.needsMarkers) ? await this.#context.processes.readAll() : [];
    for (const component of components) component.resume(running);
  }

  #forget(id: EnvironmentId): void {
    for (const component of this.#known.get(id)?.components ?? []) this.#abandon(id, component);
    this.#unidentified.delete(id);
    if (this.#known.delete(id)) this.#context.changed(id);
  }

  #abandon(id: EnvironmentId, component: Component): void {
    const { layout, log, changed } = this.#context;
    const marker = layout.marker(id, component.name);
    log.warn({ environment: id, component: component.name }, 'the folder of a component is gone; its processes are ended');
    const ending = component
      .abandon(this.#closed)
      .catch((error: unknown) =>
        log.warn({ marker, error: sentence(error) }, 'processes without a folder could not be ended yet'),
      )
      .finally(() => this.#leaving.delete(marker));
    this.#leaving.set(marker, ending);
    changed(id);
  }

  #removeShell(id: EnvironmentId): undefined {
    const { scratch, layout, log } = this.#context;
    this.#known.delete(id);
    scratch
      .discard(layout.environment(id))
      .catch((error: unknown) => log.warn({ environment: id, error: sentence(error) }, 'an empty folder stays'));
  }

  /** The component, noted on disk together with its environment before anything is done for it. An identity found there wins. */
  async obtain(identity: Identity, name: ComponentName, signal: AbortSignal): Promise<Component> {
    await this.#find(identity);
    await this.#leaving.get(this.#context.layout.marker(identity.id, name));
    // Looked up only now: meanwhile it may have gone with its last component.
    const environment = this.#known.get(identity.id) ?? this.#create(identity, name);
    return environment.obtain(name, signal);
  }

  /** Makes memory equal the disk for one environment, whose identity is put right if it is damaged. */
  async #find(identity: Identity): Promise<void> {
    const [fault] = await this.refresh(identity.id);
    if (fault === undefined) return;
    if (this.#unidentified.get(identity.id)?.replaceable !== true) throw new EphError(fault.code, fault.message);
    // Whoever asks knows whose it is.
    writeRecord(this.#context.layout.identity(identity.id), identity, { durable: true });
    await this.refresh(identity.id);
  }

  #create(identity: Identity, name: ComponentName): Environment {
    const { layout, scratch } = this.#context;
    const draft = scratch.newPath();
    mkdirSync(join(draft, 'components', name), { recursive: true, mode: 0o700 });
    writeRecord(join(draft, 'environment.json'), identity, { durable: true });
    writeRecord(join(draft, 'components', name, 'component.json'), emptyComponent(name), { durable: false });
    renameSync(draft, layout.environment(identity.id));
    const environment = this.#keep({ identity, held: false });
    environment.refresh();
    return environment;
  }

  async hold(identity: Identity, held: boolean): Promise<void> {
    await this.#find(identity);
    this.#known.get(identity.id)?.hold(held);
  }

  /** Ends a component and removes what belongs to it, and with the last component the environment. */
  async remove(identity: Identity, name: ComponentName, signal: AbortSignal): Promise<void> {
    const { layout, scratch, changed } = this.#context;
    await this.#find(identity);
    await this.#leaving.get(layout.marker(identity.id, name));
    const environment = this.#known.get(identity.id);
    if (environment === undefined) return;
    await environment.end(name, signal);
    // From the look at what is left to the last word in memory nothing waits, so no other component can slip in.
    const last = environment.isLast(name);
    const given = scratch.take(last ? layout.environment(identity.id) : layout.component(identity.id, name));
    environment.drop(name);
    if (last) this.#known.delete(identity.id);
    changed(identity.id);
    await scratch.remove(given);
    if (!last) await environment.trees.collect();
  }

  /** Stops looking after everything. What runs goes on. */
  letGo(): void {
    for (const environment of this.all) environment.letGo();
  }
}
