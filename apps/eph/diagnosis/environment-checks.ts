import type { Client } from '../client.ts';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { findEnvironment } from '../find-environment.ts';
import { exitCodeOf } from '../status-view.ts';
import { type Check, createCheck, splitMessage } from './check.ts';

const warnings = ['outcome.failed', 'deletion.held', 'environment.expired'] as const;

export const checkEnvironment = async (client: Client, text: string): Promise<readonly Check[]> => {
  const check = createCheck('environment');
  const environment = await findEnvironment(client, text).catch((error: unknown) => {
    if (error instanceof CommandFailure && (error.exitCode === exitCodes.notFound || error.code === 'api.starting'))
      return check.failing(...splitMessage(error, '`eph list` shows those that you may see.'));
    throw error;
  });
  if ('state' in environment) return [environment];
  const { id, name, phase, summary } = environment;
  const [{ lines }, { events }] = await Promise.all([
    client.readWhy({ path: { id } }),
    client.listEventsOfEnvironment({ path: { id }, query: { type: warnings, limit: 3 } }),
  ]);
  const code = exitCodeOf(environment);
  const message = `${name} is ${phase}${summary === '' ? '' : `: ${summary}`}`;
  const advice = lines.join(' ') || `\`eph logs ${name}\` shows what its components say.`;
  const impaired = code === exitCodes.stalled ? check.failing : check.attention;
  const verdict = code === exitCodes.ok ? check.ok(message) : impaired(message, advice);
  return [
    verdict,
    ...events.map(({ at, type, message: what }) =>
      createCheck('event').attention(
        `${formatTime(at)} ${type}: ${what}`,
        `\`eph why ${name}\` says what follows from it, and \`eph logs ${name}\` what its components say.`,
      ),
    ),
  ];
};
