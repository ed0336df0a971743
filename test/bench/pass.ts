import { createEngineWorld, type EngineWorld } from './engine-world.ts';
import { atMost, type Figure, median } from './figure.ts';

const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const pass = async ({ engine }: EngineWorld): Promise<void> => {
  engine.wakeAll();
  await engine.idle();
};

const elsewhere = new Uint8Array(128 * 1024 * 1024);

/** A pass comes every 10 to 120 seconds: by then the caches of the processor hold other things, for few environments as for many. */
const forget = (): void => {
  for (let index = 0; index < elsewhere.length; index += 64) elsewhere[index] = (elsewhere[index] ?? 0) + 1;
};

const measure = async (count: number, rounds: number): Promise<{ readonly pass: number; readonly stringify: number }> => {
  const world = await createEngineWorld(count);
  const passes: number[] = [];
  const baselines: number[] = [];
  for (let warm = 0; warm < 3; warm += 1) await pass(world);
  const before = { ...world.provider.calls };
  for (let round = 0; round < rounds; round += 1) {
    forget();
    passes.push(await timed(() => pass(world)));
    forget();
    baselines.push(await timed(() => JSON.stringify(world.observed)));
  }
  const after = world.provider.calls;
  if (after.ensure !== before.ensure || after.remove !== before.remove || after.list !== before.list + rounds)
    throw new Error(`a pass over unchanged environments called the provider: ${JSON.stringify({ before, after })}`);
  await world.engine.close();
  return { pass: median(passes), stringify: median(baselines) };
};

/** A pass over unchanged environments: one listing, no effect, no call for any single environment. */
export const measurePass = async (): Promise<readonly Figure[]> => {
  const small = await measure(10_000, 15);
  const large = await measure(100_000, 7);
  return [atMost('pass-10k', small.pass / small.stringify, 5), atMost('pass-growth', large.pass / small.pass, 12)];
};
