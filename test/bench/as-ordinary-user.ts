import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { bubblewrap } from '../parts/bubblewrap.ts';
import { OrdinaryUser } from '../parts/ordinary-user.ts';
import type { Figure } from './figure.ts';
import type { Measurement } from './selection.ts';

/** Root has no sandbox, so an ordinary user measures what runs in one. */
export const asOrdinaryUser = (measurement: Measurement): Measurement => {
  if (process.getuid?.() !== 0 || !bubblewrap.find().found) return measurement;
  return { ...measurement, measure: () => measureAgain(measurement) };
};

const measureAgain = async ({ figures }: Measurement): Promise<readonly Figure[]> => {
  using user = new OrdinaryUser();
  const child = user.spawn([user.node, '--expose-gc', 'test/bench/main.ts', '--json', ...figures]);
  if (child.stdout === null || child.stderr === null) throw new Error('it has no output');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  // A goal that is missed is 1.
  if (child.exitCode !== 0 && child.exitCode !== 1) throw new Error(`it could not be measured: ${errors}`);
  try {
    return JSON.parse(output) as readonly Figure[];
  } catch {
    throw new Error(`it could not be measured: ${errors}`);
  }
};
