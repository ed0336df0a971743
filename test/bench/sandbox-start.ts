import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { bubblewrap } from '../parts/bubblewrap.ts';
import { OrdinaryUser } from '../parts/ordinary-user.ts';
import { getCommand } from '../parts/part.ts';
import { atMost, type Figure, missing, reported } from './figure.ts';

export interface SandboxFigures {
  readonly start: number;
  readonly startWithNetwork: number | null;
  readonly networkMebibytes: number | null;
}

/** From `ensure` until a service answers, in a sandbox over without one. Measured as an ordinary user: root has no sandbox. */
export const measureSandboxStart = async (): Promise<readonly Figure[]> => {
  const name = 'sandbox-start';
  if (!bubblewrap.find().found) return [missing(name, `bubblewrap is missing: ${getCommand('bubblewrap')}`)];
  if (process.getuid?.() !== 0) return [missing(name, 'only root can measure this, as an ordinary user')];
  using user = new OrdinaryUser();
  const child = user.spawn([user.node, 'test/bench/sandbox-start.program.ts']);
  if (child.stdout === null || child.stderr === null) throw new Error('it has no output');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`the services could not be measured: ${errors}`);
  const { start, startWithNetwork, networkMebibytes } = JSON.parse(output) as SandboxFigures;
  return [
    atMost(name, start, 1.15),
    ...(startWithNetwork === null ? [] : [reported('sandbox-start-own-network', startWithNetwork)]),
    ...(networkMebibytes === null ? [] : [reported('own-network-memory', networkMebibytes, 'MiB')]),
  ];
};
