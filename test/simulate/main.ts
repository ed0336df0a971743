import { parseArgs } from 'node:util';
import { type PlantName, plants } from './plants.ts';
import { passesToConverge } from './quiet.ts';
import { type Finding, printShortest, simulate } from './simulate.ts';

const help = `Runs the real engine with simulated forges and providers and checks invariants after every step.

  npm run simulate -- --steps 100000 --seed 7
  npm run simulate -- --steps 10000 --seed 7 --plant guard-off   with a planted fault, which has to be found
  npm run simulate -- --steps 10000 --seed 7 --episode 31        begins with this episode, as a finding names it

Without --seed a new one is chosen and printed. Plants: ${Object.keys(plants).join(', ')}.
Exit status: 0 no violation, 1 a violation was found, 2 the command was not understood.`;

const parse = (args: readonly string[]): { seed: number; steps: number; episode: number; plant: PlantName } => {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args: [...args], options: { steps: text, seed: text, plant: text, episode: text } });
  const plant = values.plant ?? 'none';
  if (!Object.hasOwn(plants, plant)) throw new Error(`There is no plant called ${plant}.`);
  return {
    steps: count('--steps', values.steps ?? '100000'),
    seed: count('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 32))),
    episode: count('--episode', values.episode ?? '0'),
    plant: plant as PlantName,
  };
};

const count = (option: string, value: string): number => {
  if (!/^\d{1,15}$/.test(value)) throw new Error(`${option} must be a whole number, not ${JSON.stringify(value)}.`);
  return Number(value);
};

const printFinding = async (seed: number, steps: number, finding: Finding): Promise<void> => {
  const { invariant, message } = finding.violation;
  console.log(`\nviolated: ${invariant}\n  ${message}\n  seed ${seed}, episode ${finding.episode}, after ${steps} steps`);
  console.log(`\nthe shortest history found:\n${await printShortest(finding)}`);
};

const main = async (args: readonly string[]): Promise<number> => {
  if (args.includes('--help')) {
    console.log(help);
    return 0;
  }
  let options: ReturnType<typeof parse>;
  try {
    options = parse(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
    return 2;
  }
  const { seed, plant } = options;
  console.log(`seed ${seed}, ${options.steps} steps${plant === 'none' ? '' : `, with ${plant} planted`}`);
  const started = performance.now();
  const result = await simulate(options);
  const perSecond = Math.round((result.steps * 1000) / (performance.now() - started));
  console.log(
    `${result.steps} steps in ${result.episodes} episodes, ${perSecond} steps per second; ` +
      `converged within ${result.passes} of ${passesToConverge} passes; digest ${result.digest.toString(16).padStart(8, '0')}`,
  );
  if (result.finding === undefined) {
    console.log('no violation');
    return 0;
  }
  await printFinding(seed, result.steps, result.finding);
  return 1;
};

process.exitCode = await main(process.argv.slice(2));
