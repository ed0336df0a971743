import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';

const help = `Kills ephd (kill -9) over and over, at random moments and at every step boundary, while branches come, change and go.

  npm run chaos -- --kills 200 --seed 7

  --kills <number>   how many (200)
  --seed <number>    decides what happens when; without it a fresh one is taken and printed
  --towns <number>   repositories with an ephd each, at the same time (one per processor, at most 4)

Exit status: 0 it converged every time and nothing was wrong, 1 a fault, 2 the command was not understood, 130 Ctrl-C.`;

const whole = (text: string | undefined, fallback: number): number => {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new TypeError(`${text} is not a whole number above zero`);
  return value;
};

const parse = (): { readonly kills: number; readonly seed: number; readonly towns: number } | 'help' => {
  const options = {
    kills: { type: 'string' },
    seed: { type: 'string' },
    towns: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) return 'help';
  return {
    kills: whole(values.kills, 200),
    seed: whole(values.seed, randomInt(1, 1_000_000)),
    towns: whole(values.towns, Math.min(4, availableParallelism())),
  };
};

const main = async (): Promise<number> => {
  let options: ReturnType<typeof parse>;
  try {
    options = parse();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    return 2;
  }
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const { signal } = interrupted;
  const result = await runChaos({ ...options, print: console.log, signal }).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (result === undefined) return 130;
  const { kills, settles, converged, orphans, doubles, wrongDeletions, faults } = result;
  console.log(
    `kills ${kills}, converged ${converged} of ${settles}, orphans ${orphans}, doubles ${doubles}, wrong deletions ${wrongDeletions}`,
  );
  if (signal.aborted) return 130;
  return orphans + doubles + wrongDeletions + faults === 0 ? 0 : 1;
};

process.exitCode = await main();
