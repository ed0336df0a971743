import { parseArgs } from 'node:util';
import { passesToConverge } from './calm.ts';
import { type PlantName, plants } from './plants.ts';
import { type Finding, simulate, tellShortest } from './simulate.ts';

const help = `Runs the real engine in simulated towns and checks after every step that nothing happens that must not.

  npm run simulate -- --steps 100000 --seed 7
  npm run simulate -- --steps 10000 --seed 7 --plant guard-off   with a fault put in on purpose, which has to be found
  npm run simulate -- --steps 10000 --seed 7 --life 31           begins with this life: what a finding names

Without --seed a fresh one is taken and printed. Plants: ${Object.keys(plants).join(', ')}.
Exit status: 0 nothing was found, 1 something happened that must not, 2 the command was not understood.`;

const parse = (args: readonly string[]): { seed: number; steps: number; life: number; plant: PlantName } => {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ args: [...args], options: { steps: text, seed: text, plant: text, life: text } });
  const plant = values.plant ?? 'none';
  if (!Object.hasOwn(plants, plant)) throw new Error(`There is no plant called ${plant}.`);
  return {
    steps: count('--steps', values.steps ?? '100000'),
    seed: count('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 32))),
    life: count('--life', values.life ?? '0'),
    plant: plant as PlantName,
  };
};

const count = (option: string, value: string): number => {
  if (!/^\d{1,15}$/.test(value)) throw new Error(`${option} must be a whole number, not ${JSON.stringify(value)}.`);
  return Number(value);
};

const tell = async (seed: number, steps: number, finding: Finding): Promise<void> => {
  const { invariant, message } = finding.violation;
  console.log(`\nviolated: ${invariant}\n  ${message}\n  seed ${seed}, life ${finding.life}, after ${steps} steps`);
  console.log(`\nthe shortest history found:\n${await tellShortest(finding)}`);
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
    `${result.steps} steps in ${result.lives} lives, ${perSecond} steps per second; ` +
      `converged within ${result.passes} of ${passesToConverge} passes; digest ${result.digest.toString(16).padStart(8, '0')}`,
  );
  if (result.finding === undefined) {
    console.log('no violation');
    return 0;
  }
  await tell(seed, result.steps, result.finding);
  return 1;
};

process.exitCode = await main(process.argv.slice(2));
