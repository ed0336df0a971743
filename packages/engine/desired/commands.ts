import type { Command, Source } from '@eph/contract';

/** A command on a pull request from a fork that does not name the commit, and the line that does. */
export interface ShortCommand {
  readonly command: Command;
  readonly line: string;
}

/** Whole words: `/deploy` does not match `/deployment`. */
export const beginsWith = ({ text }: Command, pattern: string): boolean =>
  text.startsWith(pattern) && (text.length === pattern.length || /\s/.test(text.charAt(pattern.length)));

/**
 * Whether a command applies to a source: to the commit it was written for. On a fork it must also name that commit, which
 * must still be the head. Otherwise somebody could push between the review and the command. A prefix is not enough: who
 * makes both commits can make them begin alike.
 */
export const appliesTo = (command: Command, pattern: string, source: Source): boolean => {
  if (!beginsWith(command, pattern)) return false;
  if (source.pull?.fork === null) return command.commit !== null;
  return command.commit === source.commit && command.text.slice(pattern.length).trim().split(/\s+/, 1)[0] === source.commit;
};

/** The last command of somebody with write access, if it is about the head of a fork and does not name it. */
export const findShortCommand = (
  commands: readonly Command[],
  patterns: readonly string[],
  source: Source,
): ShortCommand | undefined => {
  if ((source.pull?.fork ?? null) === null) return undefined;
  const command = commands.findLast((one) => one.mayWrite && patterns.some((pattern) => beginsWith(one, pattern)));
  const pattern = patterns.find((one) => command !== undefined && beginsWith(command, one));
  if (command?.commit !== source.commit || pattern === undefined || appliesTo(command, pattern, source)) return undefined;
  return { command, line: `${pattern} ${source.commit}` };
};
