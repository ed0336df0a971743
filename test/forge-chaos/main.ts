import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { parseWhole, runCommand } from '../chaos-command.ts';
import { type ForgeChaosOptions, fixtures, runForgeChaos } from './forge-chaos.ts';
import { type PlantName, plants } from './plants.ts';

const help = `Runs the real engine and a real adapter against a forge where one answer in ten fails and one in twenty is truncated.

  npm run forge-chaos -- --steps 10000 --seed 7 --forge github
  npm run forge-chaos -- --steps 1000 --seed 7 --forge gitlab --plant outage-is-gone   with a planted fault, which the run has to find

  --steps <number>   number of steps (10000)
  --seed <number>    seeds the run; without it a random seed is used and printed. Which answers fail also depends on the order in which
                     requests arrive, so two runs of one seed may differ
  --forge <name>     ${Object.keys(fixtures).join(', ')} (github); gitea is a real server behind a proxy, and slower
  --plant <name>     ${Object.keys(plants).join(', ')}

Exit status: 0 no violation, 1 violation, 2 invalid arguments, 130 Ctrl-C.`;

type Options = Omit<ForgeChaosOptions, 'print' | 'signal'>;

const oneOf = <Name extends string>(names: { readonly [name in Name]: unknown }, text: string): Name => {
  if (!Object.hasOwn(names, text)) throw new TypeError(`${text} is none of ${Object.keys(names).join(', ')}`);
  return text as Name;
};

const parse = (): Options | 'help' => {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { steps: text, seed: text, forge: text, plant: text, help: { type: 'boolean' } } });
  if (values.help === true) return 'help';
  return {
    steps: parseWhole(values.steps, 10_000),
    seed: parseWhole(values.seed, randomInt(1, 1_000_000)),
    forge: oneOf<keyof typeof fixtures>(fixtures, values.forge ?? 'github'),
    plant: oneOf<PlantName>(plants, values.plant ?? 'none'),
  };
};

process.exitCode = await runCommand({
  help,
  parse,
  async run(options, signal) {
    const { forge, seed, plant } = options;
    console.log(`${forge}, ${options.steps} steps, seed ${seed}${plant === 'none' ? '' : `, with ${plant} planted`}`);
    const result = await runForgeChaos({ ...options, print: console.log, signal });
    const { steps, requests, faults, pulls, removals, settles, converged, violations, history } = result;
    if (violations.length > 0) console.log(history.join('\n'));
    for (const { invariant, message } of violations) console.log(`violated: ${invariant}: ${message}`);
    console.log(
      `steps ${steps}, pull requests ${pulls}, requests ${requests}, faults injected ${faults}, removals ${removals}, ` +
        `converged ${converged} of ${settles}, ${violations.length === 0 ? 'nothing destroyed wrongly, nothing left behind' : 'violated'}`,
    );
    return violations.length === 0 ? 0 : 1;
  },
});
