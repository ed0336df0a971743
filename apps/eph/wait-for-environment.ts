import { type EnvironmentDetailView, parseDuration, printDuration } from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import { type Reading, readOne, repeatReading, showChanges } from './commands/watch-status.ts';
import type { Context } from './context.ts';
import { exitCodes } from './exit-codes.ts';
import { exitCodeOf } from './status-view.ts';

export interface WaitOptions {
  readonly wait?: boolean;
  /** A duration, such as `10m`. */
  readonly timeout: string;
  readonly quiet?: boolean;
}

type Conclude<T> = (reading: Reading) => T | undefined;

/**
 * Follows an environment until it is ready.
 * @param isMeant whether this is already the environment that is waited for, and not yet the one before
 */
export const waitUntilReady = async (
  context: Context,
  id: string,
  isMeant: (environment: EnvironmentDetailView) => boolean,
  options: WaitOptions,
): Promise<EnvironmentDetailView> => {
  let wasThere = false;
  return follow(context, id, options, (reading) => {
    if (reading.state === 'absent' && wasThere)
      throw new CommandFailure('cli.gone', 'It was removed before it was ready.', { exitCode: exitCodes.notFound });
    const environment = reading.state === 'read' ? reading.only : undefined;
    if (environment === undefined) return undefined;
    wasThere = true;
    if (!isMeant(environment) || isAboutAnotherCommit(environment)) return undefined;
    const { name, phase, summary } = environment;
    const code = exitCodeOf(environment);
    if (code === exitCodes.stalled)
      throw new CommandFailure('cli.stalled', `${name} is ${phase}: ${summary}. \`eph why ${id}\` explains it.`, {
        exitCode: code,
      });
    return code === exitCodes.ok ? environment : undefined;
  });
};

export const waitUntilGone = async (
  context: Context,
  { id, name, project }: EnvironmentDetailView,
  options: WaitOptions,
): Promise<void> => {
  await follow(context, id, options, (reading) => {
    if (reading.state === 'read' && reading.only?.phase === 'Held')
      throw new CommandFailure('cli.held', `${reading.only.name} is held: ${reading.only.summary}.`, {
        exitCode: exitCodes.stalled,
      });
    return reading.state === 'absent' ? true : undefined;
  });
  if (!(await maySee(context, project)))
    throw new CommandFailure(
      'cli.hidden',
      `You may not see ${project} any more, so nobody can tell you whether ${name} is gone.`,
      {
        exitCode: exitCodes.signIn,
      },
    );
};

/** What somebody may not see looks as if it were gone. */
const maySee = async ({ client }: Context, project: string): Promise<boolean> => {
  try {
    return (await client.explainAccess({ query: { permission: 'environments.read', project } })).allowed;
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === exitCodes.notFound) return false;
    throw error;
  }
};

/** Timers do not last longer. */
const longestSeconds = 20 * 86_400;

/** Called before anything is requested, so that wrong usage changes nothing. */
export const checkTimeout = ({ timeout }: WaitOptions): number => {
  const seconds = parseDuration(timeout);
  if (seconds !== undefined && seconds > 0 && seconds <= longestSeconds) return seconds;
  throw new CommandFailure(
    'cli.usage',
    `--timeout must be a time such as 90s or 10m, at most 20d, not ${JSON.stringify(timeout)}.`,
    {
      exitCode: exitCodes.usage,
    },
  );
};

/** The status may still be that of the commit before. */
const isAboutAnotherCommit = ({ commit, conditions }: EnvironmentDetailView): boolean =>
  commit !== null && conditions.some(({ observedGeneration }) => observedGeneration !== commit);

const follow = async <T>(context: Context, id: string, options: WaitOptions, conclude: Conclude<T>): Promise<T> => {
  const seconds = checkTimeout(options);
  const late = AbortSignal.timeout(Math.ceil(seconds * 1_000));
  const signal = AbortSignal.any([context.interruption(), late]);
  const isShown = !context.json && options.quiet !== true;
  const show = showChanges(context);
  let last: EnvironmentDetailView | undefined;
  const result = await repeatReading(
    { read: readOne(context.client, id, signal), signal, intervalSeconds: 0.5 },
    async (reading) => {
      if (reading.state === 'read') last = reading.only;
      if (reading.state !== 'absent' && isShown) await show(reading);
      return conclude(reading);
    },
  );
  if (result !== undefined) return result;
  if (!late.aborted) throw new CommandFailure('cli.cancelled', 'Not waiting any more; ephd goes on.');
  const state = last === undefined ? 'there is no environment yet' : `${last.name} is ${last.phase}: ${last.summary}`;
  throw new CommandFailure('cli.timed_out', `After ${printDuration(seconds)}, ${state}. ephd goes on.`, {
    exitCode: exitCodes.timedOut,
  });
};
