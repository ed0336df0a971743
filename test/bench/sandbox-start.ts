import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { findSandbox } from '@eph/providers/process/bubblewrap';
import { findCgroups } from '@eph/providers/process/cgroups';
import { createProcessProvider } from '@eph/providers/process/provider';
import { type Sandbox, withoutSandbox } from '@eph/providers/process/sandbox';
import { atMost, type Figure, median, missing, reported } from './figure.ts';

const rounds = 61;
const { signal } = new AbortController();

const server = `
  import { createServer } from 'node:http';
  createServer((request, response) => response.end('here')).listen(Number(process.env.PORT), '127.0.0.1');
`;

const identity: Identity = {
  id: environmentId('00000000000000aa'),
  name: environmentName('shop-calm-bay-1'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'x' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

const createProvider = (folder: string, name: string, sandbox: Sandbox) =>
  createProcessProvider({
    folder: join(folder, name),
    variables: process.env,
    sandbox,
    cgroups: findCgroups(join(folder, name)),
    budget: { memoryBytes: 2 ** 32, processes: 1024, diskBytes: 2 ** 40, projectDiskBytes: 2 ** 40, cacheBytes: 2 ** 40 },
    exportTree: (_project, _commit, tree) => {
      mkdirSync(tree, { recursive: true });
      writeFileSync(join(tree, 'server.mjs'), server);
      return Promise.resolve();
    },
  });

type Provider = ReturnType<typeof createProvider>;

let made = 0;

const isReady = async (provider: Provider): Promise<boolean> => {
  const { items } = await provider.list({ environment: identity.id }, signal);
  return items[0]?.components[0]?.current?.health === 'ready';
};

/** Milliseconds until it answers; it is removed again afterwards. */
const start = async (
  provider: Provider,
  network?: ResolvedComponent['network'],
  look: () => void = () => undefined,
): Promise<number> => {
  made += 1;
  const digits = String(made).padStart(40, '0');
  const component: ResolvedComponent = {
    name: componentName('web'),
    provider: provider.name,
    commit: commitSha('0'.repeat(40)),
    artifact: 'tree',
    entry: true,
    dependsOn: [],
    values: { command: [process.execPath, 'server.mjs'], env: {}, ready: { kind: 'http', path: '/' }, readyTimeoutSeconds: 60 },
    revision: revision(digits),
    ...(network && { network }),
  };
  const began = performance.now();
  await provider.ensure(identity, component, signal);
  while (!(await isReady(provider))) await new Promise((resolve) => setTimeout(resolve, 5));
  const elapsed = performance.now() - began;
  look();
  await provider.remove(identity, component.name, signal);
  return elapsed;
};

/** Of the one process that holds a network, in MiB. */
const readNetworkMemory = (): number => {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const isOwn = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) === process.getuid?.();
      const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(status) ?? [];
      // One of an earlier service may still end, without memory.
      if (isOwn && kibibytes !== undefined && /^Name:\tpas(?:ta|st)/.test(status)) return Number(kibibytes) / 1024;
    } catch {
      // It has ended.
    }
  throw new Error('no process holds a network');
};

/** From `ensure` until a service answers, in a sandbox over without one. */
export const measureSandboxStart = async (): Promise<readonly Figure[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-bench-'));
  const sandbox = findSandbox({ folder: join(folder, 'sandbox'), tools: [], network: 'shared', reach: [] });
  try {
    const { isolation } = sandbox;
    if (isolation.state === 'trusted') return names.map((name) => missing(name, isolation.because));
    const { network: why } = isolation.lacks;
    await using bare = createProvider(folder, 'bare', withoutSandbox('for comparison'));
    await using confined = createProvider(folder, 'confined', sandbox);
    const times: Record<'bare' | 'confined' | 'network', number[]> = { bare: [], confined: [], network: [] };
    const memory: number[] = [];
    for (let round = -2; round < rounds; round += 1) {
      const [plain, inside] = [await start(bare), await start(confined)];
      const alone = why === undefined ? await start(confined, { reaches: [] }, () => memory.push(readNetworkMemory())) : 0;
      if (round < 0) continue;
      times.bare.push(plain);
      times.confined.push(inside);
      times.network.push(alone);
    }
    const ratio = (of: readonly number[]): number => median(of) / median(times.bare);
    const [first, ...others] = names;
    return [
      atMost(first, ratio(times.confined), 1.15),
      ...(why === undefined
        ? [reported(others[0], ratio(times.network)), reported(others[1], median(memory), 'MiB')]
        : others.map((name) => missing(name, why))),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const names = ['sandbox-start', 'sandbox-start-own-network', 'own-network-memory'] as const;
