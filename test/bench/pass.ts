import { createEngineHarness, type EngineHarness } from './engine-harness.ts';
import { atMost, type Figure, median } from './figure.ts';

const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const pass = async ({ engine }: EngineHarness): Promise<void> => {
  engine.wakeAll();
  await engine.idle();
};

const elsewhere = new Uint8Array(128 * 1024 * 1024);

/** A pass comes every 10 to 120 seconds: by then the caches of the processor hold other things, for few environments as for many. */
const forget = (): void => {
  for (let index = 0; index < elsewhere.length; index += 64) elsewhere[index] = (elsewhere[index] ?? 0) + 1;
};

const effectsOf = ({ providers }: EngineHarness): string =>
  providers.map(({ calls: { ensure, remove, hold } }) => `${ensure}/${remove}/${hold}`).join(' ');

/** Passes that list every provider once and do nothing else. */
const measurePasses = async (harness: EngineHarness, rounds: number): Promise<number> => {
  for (let warm = 0; warm < 3; warm += 1) await pass(harness);
  const [effects, lists] = [effectsOf(harness), harness.providers.map(({ calls }) => calls.list)];
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    forget();
    times.push(await timed(() => pass(harness)));
  }
  const more = harness.providers.map(({ calls }, index) => calls.list - (lists[index] ?? 0));
  if (effectsOf(harness) !== effects || more.some((count) => count !== rounds))
    throw new Error(`a pass over unchanged environments called a provider: ${more.join(', ')} lists in ${rounds} passes`);
  return median(times);
};

const measure = async (count: number, rounds: number): Promise<Readonly<Record<'pass' | 'away' | 'stringify', number>>> => {
  const harness = await createEngineHarness(count);
  const whole = await measurePasses(harness, rounds);
  const baselines: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    forget();
    baselines.push(await timed(() => JSON.stringify(harness.observed)));
  }
  const [first] = harness.providers;
  if (first !== undefined) first.isAway = true;
  const away = await measurePasses(harness, rounds);
  await harness.engine.close();
  return { pass: whole, away, stringify: median(baselines) };
};

/** A pass over unchanged environments: one listing of each provider, no effect, no call for any single environment. */
export const measurePass = async (): Promise<readonly Figure[]> => {
  const small = await measure(10_000, 15);
  const large = await measure(100_000, 7);
  return [
    atMost('pass-10k', small.pass / small.stringify, 5),
    atMost('pass-growth', large.pass / small.pass, 12),
    atMost('pass-one-away', small.away / small.pass, 3),
  ];
};
