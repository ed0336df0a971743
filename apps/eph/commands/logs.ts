import type { LogLine } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { safeLine, safeLogLine } from '../safe-text.ts';

export interface LogsOptions {
  readonly follow?: boolean;
  readonly component?: string;
  readonly tail?: number;
  readonly since?: string;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  readonly raw?: boolean;
}

export const logs = async (context: Context, name: string | undefined, options: LogsOptions): Promise<void> => {
  const { client, out, err, json } = context;
  const { component, tail, since, follow = false, previous } = options;
  if (follow && previous === true)
    throw new CommandFailure(
      'cli.usage',
      'What ran before is over, so there is nothing to follow: leave out --follow or --previous.',
      {
        exitCode: exitCodes.usage,
      },
    );
  const { id } = await findNamedOrCurrent(context, name);
  const query = { component, tail, since, follow: follow || undefined, previous };
  const signal = follow ? context.interruption() : new AbortController().signal;
  const render = createRender(context, options);
  for await (const line of client.readLogs({ path: { id }, query, signal })) {
    if (json) await out.jsonLine(line);
    else await out.write(`${render(line)}\n`);
  }
  if (follow && !signal.aborted) await err.lines(['The log ended: the environment is gone.']);
};

/** Into a pipe the lines go as the service wrote them; a terminal would obey what is in them. */
const createRender = (
  { out }: Context,
  { component, timestamps = false, raw = false }: LogsOptions,
): ((line: LogLine) => string) => {
  const clean = raw || !out.isTerminal ? (text: string): string => text : safeLogLine;
  const timeOf = ({ at }: LogLine): string => (timestamps ? `${at === null ? '-' : formatTime(at)} ` : '');
  if (component !== undefined) return (line) => `${timeOf(line)}${clean(line.text)}`;
  let width = 0;
  return (line) => {
    const label = safeLine(line.shared ? line.part : line.component);
    width = Math.max(width, label.length);
    return `${out.paint('faint', `${label.padEnd(width)} |`)} ${timeOf(line)}${clean(line.text)}`;
  };
};
