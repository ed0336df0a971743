import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BenchFolder, type RunningEphd, startEphd, until } from './bench-ephd.ts';
import { atMost, type Figure, median, reported } from './figure.ts';

const count = 1_000;
/** Enough for all code to be loaded that environments need, which no further one costs again. */
const few = 100;
/** How much code is compiled, and kept, depends on how often it ran, and is no part of what an environment costs. */
const withoutCompiledCode = ['--no-opt', '--no-maglev', '--no-sparkplug', '--no-flush-bytecode'];
const rounds = 5;

const spec = `version: "1.0"
name: shop
process:
  services:
    web: { command: [sleep, "1000000"], ready: { none: true } }
`;

const nodeStart = (): number => {
  const start = performance.now();
  execFileSync(process.execPath, ['-e', '0']);
  return performance.now() - start;
};

/** Heap of a daemon that has come to rest, after a collection. */
const idleHeap = ({ config, env }: BenchFolder): number => {
  const script = fileURLToPath(new URL('idle-heap.program.ts', import.meta.url));
  return Number(
    execFileSync(process.execPath, ['--expose-gc', ...withoutCompiledCode, script, config], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
};

/** A thousand real environments: how soon a restarted ephd has found them again, and what each costs it in memory. */
export const measureThousand = async (): Promise<readonly Figure[]> => {
  using site = new BenchFolder();
  const copy = join(site.folder, 'copy');
  mkdirSync(copy);
  site.git(site.folder, ['init', '--quiet', '--bare', '--initial-branch=main', site.origin]);
  site.git(copy, ['init', '--quiet', '--initial-branch=main']);
  writeFileSync(join(copy, 'eph.yaml'), spec);
  site.git(copy, ['add', '--all']);
  site.git(copy, ['commit', '--quiet', '--message', 'shop']);
  site.git(copy, ['push', '--quiet', site.origin, 'main']);
  const commit = site.git(copy, ['rev-parse', 'HEAD']);
  writeFileSync(
    site.config,
    `data: data\napi: { port: 0 }\ngateway: { port: ${20_000 + (process.pid % 10_000)} }\ndeletion_bound: { at_least: ${count} }\nprojects: [{ name: shop, trusted: true, location: shop.git }]\n`,
  );
  const args = ['--config', site.config];
  const refs = (verb: 'create' | 'delete', from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `${verb} refs/heads/preview/${from + index} ${commit}\n`).join('');
  const make = async (from: number, to: number): Promise<void> => {
    site.git(site.origin, ['update-ref', '--stdin'], refs('create', from, to));
    const maker = await startEphd(site, args);
    await until(`${to} environments`, async () => (await readyCount(maker)) === to, 200);
    await maker.stop();
  };

  await make(0, few);
  const heapOfFew = idleHeap(site);
  await make(few, count);

  const recoveries: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    const ephd = await startEphd(site, args);
    await until('adoption', async () => (await readyCount(ephd)) === count, 20);
    recoveries.push(performance.now() - start);
    await ephd.stop();
  }
  const full = idleHeap(site);

  const remover = await startEphd(site, args);
  await until('adoption', async () => (await readyCount(remover)) === count, 20);
  site.git(site.origin, ['update-ref', '--stdin'], refs('delete', 0, count));
  await until('removal of a thousand', async () => (await remover.environments()).length === 0, 200);
  await remover.stop();
  const baseline = median(Array.from({ length: 11 }, nodeStart));
  return [
    atMost('memory-per-environment', (full - heapOfFew) / (count - few) / 1024, 8, 'KiB'),
    reported('restart-recovery', median(recoveries) / baseline),
  ];
};

/** From the metrics, which cost less than a listing: the question must not be what is measured. */
const readyCount = async (ephd: RunningEphd): Promise<number> =>
  Number(/^eph_environments\{phase="Ready"\} (\d+)$/m.exec(await ephd.metrics())?.[1] ?? 0);
