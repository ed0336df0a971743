import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../parts/find-program.ts';
import { perProject, untilListed, writeProjects } from './api-list.ts';
import { BenchFolder, startEphd } from './bench-ephd.ts';
import { atMost, type Figure, median, missing, reported } from './figure.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const rounds = 21;

/** Fetches and prints the same list, and is no more than that. */
const script = `
const reply = await fetch(process.env.EPH_SERVER + '/api/v1/environments?limit=1000', { headers: JSON.parse(process.env.HEADERS) });
const { environments } = await reply.json();
for (const { name, phase, source, commit, url } of environments) console.log(name, phase, source.name, commit, url);
`;

/** A command line that many have at hand; it prints its own version and asks no server. */
const timeKubectl = (program: string): number => {
  const start = performance.now();
  execFileSync(program, ['version', '--client'], { stdio: 'ignore' });
  return performance.now() - start;
};

/** The command as it is shipped: bundled. */
export const measureCliList = async (): Promise<readonly Figure[]> => {
  execFileSync(process.execPath, ['apps/eph/build.ts'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  using site = new BenchFolder();
  writeProjects(site, 1, []);
  const ephd = await startEphd(site, ['--config', site.config]);
  try {
    await untilListed(ephd, perProject);
    const env = { ...site.env, EPH_SERVER: ephd.apiUrl, HEADERS: JSON.stringify(ephd.headers) };
    const milliseconds = (...args: string[]): number => {
      const start = performance.now();
      const printed = execFileSync(process.execPath, args, {
        cwd: root,
        env,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const took = performance.now() - start;
      if (printed.match(/preview\/\d+/g)?.length !== perProject) throw new Error(`${args[0]} did not print the list`);
      return took;
    };
    const times = { own: [] as number[], bare: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      times.own.push(milliseconds('apps/eph/dist/main.mjs', 'list'));
      times.bare.push(milliseconds('--input-type=module', '--eval', script));
    }
    const own = median(times.own);
    const kubectl = findProgram({ program: 'kubectl', places: [] }, process.env);
    return [
      atMost('cli-list', own / median(times.bare), 1.5),
      kubectl === undefined
        ? missing('cli-list-vs-kubectl', 'kubectl is not on the PATH')
        : reported('cli-list-vs-kubectl', own / median(Array.from({ length: rounds }, () => timeKubectl(kubectl)))),
    ];
  } finally {
    await ephd.stop();
  }
};
