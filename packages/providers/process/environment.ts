import { mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ComponentName,
  componentName,
  dnsLabel,
  EphError,
  type Identity,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  type ProviderName,
  type Usage,
} from '@eph/contract';
import { Component, type ComponentHost } from './component.ts';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import { isAbsent, sentence } from './faults.ts';
import { Preparations } from './preparations.ts';
import type { RunningProcess } from './processes.ts';
import {
  type ComponentRecord,
  type EnvironmentRecord,
  emptyComponent,
  type ReadRecord,
  readComponent,
  writeRecord,
} from './records.ts';
import { Trees } from './trees.ts';

type Unreadable = Extract<ReadRecord<ComponentRecord>, { why: string }>;

const allReadable: ReadonlyMap<ComponentName, Unreadable> = new Map();

/** How memory differed from the disk. */
export interface Difference {
  readonly appeared: readonly Component[];
  readonly vanished: readonly Component[];
}

/** One environment in memory, as it is on disk. */
export class Environment implements ComponentHost {
  readonly identity: Identity;
  #held: boolean;
  readonly #context: Context;
  #trees: Trees | undefined;
  #preparations: Preparations | undefined;
  readonly #components = new Map<ComponentName, Component>();
  #unreadable: ReadonlyMap<ComponentName, Unreadable> = allReadable;
  /** When the list of components last changed on disk, as far as it was read. */
  #stamp: number | undefined;
  /** Whether the list of components could be read. */
  #listed = true;

  constructor(context: Context, { identity, held }: EnvironmentRecord) {
    this.identity = identity;
    this.#held = held;
    this.#context = context;
  }

  get #componentsFolder(): string {
    return join(this.#context.layout.environment(this.identity.id), 'components');
  }

  /** Made at first use: most environments are only looked at. */
  get trees(): Trees {
    const { layout, scratch, exportTree } = this.#context;
    this.#trees ??= new Trees(
      layout.trees(this.identity.id),
      scratch,
      (commit, draft, signal) => exportTree(this.identity.project, commit, draft, signal),
      () => this.components.flatMap((one) => one.checkouts),
    );
    return this.#trees;
  }

  get preparations(): Preparations {
    this.#preparations ??= new Preparations(this.#context, this);
    return this.#preparations;
  }

  component(name: ComponentName): Component | undefined {
    return this.#components.get(name);
  }

  get components(): readonly Component[] {
    return [...this.#components.values()];
  }

  observe(provider: ProviderName, parts: boolean): ObservedEnvironment {
    const unreadable = [...this.#unreadable.keys()].map((name) => unknownComponent(name, provider));
    const components = [...this.components.map((one) => one.observe(provider, parts)), ...unreadable];
    return observedEnvironment({
      identity: this.identity,
      components: components.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      held: this.#held,
      complete: unreadable.length === 0 && this.#listed,
    });
  }

  hold(held: boolean): void {
    if (held === this.#held) return;
    const { layout, changed } = this.#context;
    writeRecord(layout.identity(this.identity.id), { ...this.identity, held }, { durable: true });
    this.#held = held;
    changed(this.identity.id);
  }

  /** What runs for its components at the moment. */
  measure(running: readonly RunningProcess[]): ReadonlyMap<ComponentName, Usage> {
    const usage = new Map<ComponentName, Usage>();
    for (const name of this.#components.keys()) {
      const marker = this.#context.layout.marker(this.identity.id, name);
      for (const one of running) {
        if (one.marker?.startsWith(marker) !== true) continue;
        const before = usage.get(name);
        const cpuSeconds = (before?.cpuSeconds ?? 0) + one.cpuSeconds;
        usage.set(name, { cpuSeconds, cpuCores: null, memoryBytes: (before?.memoryBytes ?? 0) + one.memoryBytes });
      }
    }
    return usage;
  }

  /** Makes memory equal the disk. Cheap when nothing was changed behind our back: one look at one folder. */
  refresh(): Difference {
    try {
      const stamp = statSync(this.#componentsFolder).mtimeMs;
      if (stamp === this.#stamp && this.#unreadable.size === 0) return { appeared: [], vanished: [] };
      const difference = this.#compare(
        readdirSync(this.#componentsFolder)
          .filter((name) => dnsLabel.test(name))
          .map(componentName),
      );
      this.#stamp = stamp;
      this.#listed = true;
      return difference;
    } catch (error) {
      if (isAbsent(error)) return this.#compare([]);
      if (this.#listed) this.#warn(sentence(error));
      this.#listed = false;
      return { appeared: [], vanished: [] };
    }
  }

  #compare(names: readonly ComponentName[]): Difference {
    const vanished = this.components.filter((one) => !names.includes(one.name));
    for (const one of vanished) this.#components.delete(one.name);
    const before = this.#unreadable;
    this.#unreadable = allReadable;
    const appeared = names.filter((name) => !this.#components.has(name)).map((name) => this.#read(name, before));
    return { appeared: appeared.filter((one) => one !== undefined), vanished };
  }

  #read(name: ComponentName, unreadableBefore: ReadonlyMap<ComponentName, Unreadable>): Component | undefined {
    const path = this.#context.layout.componentRecord(this.identity.id, name);
    const read = readComponent(path, name);
    if (read.state === 'read') return this.#hold(read.record);
    // The folder is there, so the record was taken away by somebody, and processes may still run.
    const fault: Unreadable = read.state === 'absent' ? { state: 'corrupt', why: `${path} is missing` } : read;
    if (!unreadableBefore.has(name)) this.#warn(fault.why);
    this.#unreadable = new Map([...this.#unreadable, [name, fault]]);
    return undefined;
  }

  #hold(record: ComponentRecord): Component {
    const component = new Component(this.#context, this, record);
    this.#components.set(record.name, component);
    return component;
  }

  #warn(why: string): void {
    this.#context.log.warn({ environment: this.identity.id, why }, 'an environment could not be read completely');
  }

  /** The component, noted on disk before anything is done for it. */
  async obtain(name: ComponentName, signal: AbortSignal): Promise<Component> {
    const known = this.#components.get(name);
    if (known !== undefined) return known;
    const unreadable = this.#unreadable.get(name);
    if (unreadable?.state === 'unreadable') {
      throw new EphError('provider.incomplete', `What is known of component ${name} cannot be read: ${unreadable.why}.`);
    }
    // Nothing is known of what a damaged record stood for except its marker, and nobody could reach it either.
    if (unreadable !== undefined) await this.#endUnknown(name, signal);
    const record = emptyComponent(name);
    const path = this.#context.layout.componentRecord(this.identity.id, name);
    if (unreadable === undefined) this.#create(record);
    else writeRecord(path, record, { durable: false });
    this.drop(name);
    return this.#hold(record);
  }

  #create(record: ComponentRecord): void {
    const draft = this.#context.scratch.newPath();
    mkdirSync(draft, { mode: 0o700 });
    writeRecord(join(draft, 'component.json'), record, { durable: false });
    renameSync(draft, join(this.#componentsFolder, record.name));
  }

  /** Ends everything that runs for a component. */
  async end(name: ComponentName, signal: AbortSignal): Promise<void> {
    const component = this.#components.get(name);
    const checkouts = component?.checkouts ?? [];
    await component?.end(signal);
    if (this.isLast(name)) await this.#preparations?.end();
    // Whoever removes it to make it again wants what failed to be tried again.
    else await Promise.all(checkouts.map((checkout) => this.preparations.forgetFailure(checkout)));
    if (this.#unreadable.has(name)) await this.#endUnknown(name, signal);
  }

  async #endUnknown(name: ComponentName, signal: AbortSignal): Promise<void> {
    const { layout, processes, limits } = this.#context;
    const marker = layout.marker(this.identity.id, name);
    await endProcesses(processes, { marker, leaders: [], graceMs: limits.graceMs, signal });
  }

  /** Without this component nothing is left. */
  isLast(name?: ComponentName): boolean {
    return this.#listed && [...this.#components.keys(), ...this.#unreadable.keys()].every((one) => one === name);
  }

  /** Forgets a component whose folder is gone. */
  drop(name: ComponentName): void {
    this.#components.delete(name);
    this.#unreadable = new Map([...this.#unreadable].filter(([one]) => one !== name));
  }

  letGo(): void {
    for (const one of this.components) one.letGo();
  }

  get folder(): string {
    return this.#context.layout.environment(this.identity.id);
  }

  get cache(): string | undefined {
    return this.#preparations?.cache;
  }

  /** Ends everything that runs in it, until there is a new version. */
  async stop(why: string): Promise<void> {
    await Promise.all(this.components.flatMap(({ instances }) => instances.map((one) => one.stop(why))));
  }
}

/** Its name is known from its folder, and nothing else: it is neither absent nor equal to anything wanted. */
const unknownComponent = (name: ComponentName, provider: ProviderName): ObservedComponent => ({
  name,
  provider,
  entry: false,
  dependsOn: [],
  current: null,
  next: null,
  retiring: true,
  upstream: null,
  outputs: {},
});
