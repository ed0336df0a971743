import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  type ObservedComponent,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { findSandbox } from './bubblewrap.ts';
import { findCgroups } from './cgroups.ts';
import type { ProcessProviderOptions } from './context.ts';
import { Layout } from './layout.ts';
import type { Limits } from './limits.ts';
import type { RunningProcess } from './processes.ts';
import { createProcessProvider, type ProcessProvider } from './provider.ts';
import { createProcesses } from './this-machine.ts';

export const never = new AbortController().signal;

const quickLimits: Partial<Limits> = { graceMs: 2_000, restartFirstMs: 50, restartMaxMs: 500, checkMs: 500, settleMs: 100 };

export const identity: Identity = {
  id: environmentId('00000000000000aa'),
  name: environmentName('shop-serene-ocean-4207'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/x' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

/** The files of every commit: programs that services run with the Node that runs the test. */
const programs = {
  /** Answers every request with its variables. */
  'answer.mjs': `
    import { createServer } from 'node:http';
    console.log('started ' + (process.env.COMMIT ?? ''));
    createServer((request, response) => response.end(JSON.stringify(process.env)))
      .listen(Number(process.env.PORT), '127.0.0.1');
  `,
  'idle.mjs': `
    console.log('started ' + (process.env.COMMIT ?? ''));
    setInterval(() => undefined, 1_000_000);
  `,
  'crash.mjs': `
    console.log('started ' + (process.env.COMMIT ?? ''));
    console.log('cannot find the database');
    process.exitCode = 3;
  `,
};

export const run = (program: keyof typeof programs): string[] => [process.execPath, program];

const writePrograms = (folder: string): void => {
  mkdirSync(join(folder, 'inside'), { recursive: true });
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);
};

/** Fails with a message instead of hanging. */
export const until = async (what: string, check: () => Promise<boolean> | boolean, seconds = 20): Promise<void> => {
  const deadline = Date.now() + seconds * 1000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`still not true after ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const readName = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
};

/** A provider with a temporary folder. Disposal leaves neither processes nor files behind. */
export class ProcessHarness implements AsyncDisposable {
  readonly folder: string;
  readonly #options: ProcessProviderOptions;
  /** Created for this test. */
  readonly #outer: string | undefined;
  provider: ProcessProvider;

  constructor(options: Partial<ProcessProviderOptions> = {}) {
    this.#outer = options.folder === undefined ? realpathSync(mkdtempSync(join(tmpdir(), 'eph-process-'))) : undefined;
    this.folder = options.folder ?? join(this.#outer ?? '', 'data');
    this.#options = {
      variables: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      sandbox: findSandbox({ folder: join(this.folder, 'sandbox'), tools: [], network: 'shared', reach: [] }),
      cgroups: findCgroups(this.folder),
      budget: { memoryBytes: 2 ** 30, processes: 256, diskBytes: 2 ** 30, projectDiskBytes: 2 ** 32, cacheBytes: 2 ** 30 },
      exportTree: (_project, _commit, folder) => Promise.resolve(writePrograms(folder)),
      ...options,
      folder: this.folder,
      limits: { ...quickLimits, ...options.limits },
    };
    this.provider = createProcessProvider(this.#options);
  }

  get layout(): Layout {
    return new Layout(this.folder);
  }

  get isSandboxed(): boolean {
    return this.#options.sandbox.isolation.state === 'sandboxed';
  }

  get hasNetworks(): boolean {
    const { isolation } = this.#options.sandbox;
    return isolation.state === 'sandboxed' && isolation.lacks.network === undefined;
  }

  async restart(whileDown?: () => void | Promise<void>): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    await whileDown?.();
    this.provider = createProcessProvider(this.#options);
  }

  component(name: string, number: number, values: Partial<ResolvedComponent['values']>): ResolvedComponent {
    const digits = String(number).padStart(40, '0');
    const defaults = { env: {}, ready: { kind: 'tcp' }, readyTimeoutSeconds: 30 };
    return {
      name: componentName(name),
      provider: this.provider.name,
      commit: commitSha(digits),
      artifact: `tree:${digits}`,
      entry: false,
      dependsOn: [],
      values: { ...defaults, ...values },
      revision: revision(digits),
    };
  }

  async observe(name: string, of = identity): Promise<ObservedComponent | undefined> {
    const { items } = await this.provider.list({ environment: of.id }, never);
    return items[0]?.components.find((one) => one.name === name);
  }

  async untilReady({ name, revision: wanted }: ResolvedComponent, of = identity): Promise<ObservedComponent> {
    let seen: ObservedComponent | undefined;
    await until(`${name} is ready`, async () => {
      seen = await this.observe(name, of);
      return seen?.current?.revision === wanted && seen.current.health === 'ready';
    });
    if (seen === undefined) throw new Error(`${name} is not there`);
    return seen;
  }

  /** A number that a service wrote into its checkout. */
  async readTreeNumber({ commit }: ResolvedComponent, file: string): Promise<number> {
    const path = join(this.layout.trees(identity.id), commit, file);
    await until(`${file} was written`, () => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n'));
    return Number(readFileSync(path, 'utf8'));
  }

  /** The processes of services in this data folder, found without the provider, and without those that hold a sandbox. */
  async running(): Promise<readonly RunningProcess[]> {
    const all = await this.#marked();
    return this.isSandboxed ? all.filter(({ pid, isInside }) => isInside && readName(pid) !== 'bwrap') : all;
  }

  /** The recorded processes: each is the service itself, or holds its sandbox. */
  async leaders(): Promise<readonly RunningProcess[]> {
    return (await this.#marked()).filter(({ pid, session, isInside }) => pid === session && !isInside);
  }

  async #marked(): Promise<readonly RunningProcess[]> {
    const all = await createProcesses().readAll();
    return all.filter(({ marker }) => marker?.startsWith(this.layout.marker()) === true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { items } = await this.provider.list({ all: true }, never);
    const removals = items.flatMap((one) => one.components.map(({ name }) => this.provider.remove(one.identity, name, never)));
    await Promise.all(removals);
    await this.provider[Symbol.asyncDispose]();
    const left = await this.#marked();
    for (const { pid } of left) process.kill(pid, 'SIGKILL');
    if (this.#outer !== undefined) rmSync(this.#outer, { recursive: true, force: true });
    if (left.length > 0) throw new Error(`processes were left behind: ${left.map(({ pid }) => pid).join(', ')}`);
  }
}
