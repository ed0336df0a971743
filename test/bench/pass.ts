import { isDeepStrictEqual } from 'node:util';
import { createEngineHarness, type EngineHarness, type ListingProvider } from './engine-harness.ts';
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

interface Measured {
  readonly harness: EngineHarness;
  readonly passes: number[];
  readonly stringify: number[];
}

const rounds = 9;

/** Passes that list every provider once and do nothing else. Round by round, so that a busy moment of the machine is in all figures. */
const measureRounds = async (...measured: readonly Measured[]): Promise<void> => {
  for (const { harness } of measured) for (let warm = 0; warm < 3; warm += 1) await pass(harness);
  const before = measured.map(({ harness }) => callsOf(harness));
  for (let round = 0; round < rounds; round += 1)
    for (const { harness, passes, stringify } of measured) {
      forget();
      passes.push(await timed(() => pass(harness)));
      forget();
      stringify.push(await timed(() => JSON.stringify(harness.observed)));
    }
  for (const [index, { harness }] of measured.entries()) {
    const expected = before[index]?.map(({ list, ...effects }) => ({ list: list + rounds, ...effects }));
    if (!isDeepStrictEqual(callsOf(harness), expected))
      throw new Error(`a pass over unchanged environments called a provider: ${JSON.stringify(callsOf(harness))}`);
  }
};

const callsOf = ({ providers }: EngineHarness): readonly ListingProvider['calls'][] =>
  providers.map(({ calls }) => ({ ...calls }));

const begin = (harness: EngineHarness): Measured => ({ harness, passes: [], stringify: [] });

/** A pass over unchanged environments: one listing of each provider, no effect, no call for any single environment. */
export const measurePass = async (): Promise<readonly Figure[]> => {
  const small = begin(await createEngineHarness(10_000));
  const large = begin(await createEngineHarness(100_000));
  await measureRounds(small, large);
  await large.harness.engine.close();
  const away = begin(small.harness);
  const [first] = small.harness.providers;
  if (first !== undefined) first.isAway = true;
  await measureRounds(away);
  await small.harness.engine.close();
  const ofSmall = median(small.passes);
  return [
    atMost('pass-10k', ofSmall / median(small.stringify), 5),
    atMost('pass-growth', median(large.passes) / ofSmall, 12),
    atMost('pass-one-away', median(away.passes) / ofSmall, 3),
  ];
};
