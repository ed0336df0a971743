import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { parseWhole, runCommand } from '../chaos-command.ts';
import { runAsOrdinaryUser } from '../parts/ordinary-user.ts';
import { type ChaosOptions, runChaos } from './chaos.ts';
import { startClusterWorlds } from './cluster-world.ts';
import { processWorlds } from './process-world.ts';

const help = `Kills ephd (kill -9) over and over, at random times and at every step boundary,
while branches are created, updated and deleted.

  npm run chaos -- --kills 200 --seed 7

  --provider <type>  process or kubernetes (process)
  --kills <number>   number of kills (200)
  --seed <number>    makes a run repeatable; without it a random seed is used and printed
  --workers <number> repositories tested at the same time, each with its own ephd (one per processor, at most 4)

Exit status: 0 converged every time without a fault, 1 fault, 2 invalid arguments, 130 Ctrl-C.`;

interface Options {
  readonly provider: 'process' | 'kubernetes';
  readonly kills: number;
  readonly seed: number;
  readonly workers: number;
}

const parse = (): Options | 'help' => {
  const options = {
    provider: { type: 'string', default: 'process' },
    kills: { type: 'string' },
    seed: { type: 'string' },
    workers: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) return 'help';
  const { provider } = values;
  if (provider !== 'process' && provider !== 'kubernetes') throw new TypeError(`${provider} is neither process nor kubernetes`);
  return {
    provider,
    kills: parseWhole(values.kills, 200),
    seed: parseWhole(values.seed, randomInt(1, 1_000_000)),
    workers: parseWhole(values.workers, Math.min(4, availableParallelism())),
  };
};

const run = async (options: ChaosOptions): Promise<number> => {
  const result = await runChaos(options);
  const { settles, converged, orphans, doubles, wrongDeletions, faults } = result;
  console.log(
    `kills ${result.kills}, converged ${converged} of ${settles}, orphans ${orphans}, doubles ${doubles}, wrong deletions ${wrongDeletions}`,
  );
  return orphans + doubles + wrongDeletions + faults === 0 ? 0 : 1;
};

process.exitCode = await runCommand({
  help,
  parse,
  async run(options, signal) {
    const { provider, kills, seed, workers } = options;
    if (provider === 'kubernetes') {
      await using worlds = await startClusterWorlds();
      return await run({ worlds, kills, seed, workers, print: console.log, signal });
    }
    const again = ['--kills', String(kills), '--seed', String(seed), '--workers', String(workers)];
    const code = await runAsOrdinaryUser('test/chaos/main.ts', again);
    return code ?? (await run({ worlds: processWorlds, kills, seed, workers, print: console.log, signal }));
  },
});
