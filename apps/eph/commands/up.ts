import type { EnvironmentRequest } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { renderAnswer } from '../request-view.ts';
import { safeLine } from '../safe-text.ts';

export interface UpOptions {
  readonly project?: string;
}

export const up = async ({ client, print }: Context, text: string, { project }: UpOptions): Promise<void> => {
  const answer = await client.createEnvironment({
    body: { source: parseSource(text), ...(project === undefined ? {} : { project }) },
  });
  // By id, because people copy the command and names are untrusted.
  const follow = safeLine(`Follow it with \`eph status --watch ${answer.environment}\`.`);
  await print(answer, () => [...renderAnswer(answer), follow]);
};

/** `42`, `#42` or `!42` is a pull request; a branch that looks like a number is `branch:42`. */
const parseSource = (text: string): EnvironmentRequest['source'] => {
  const number = /^(?:[#!]|pr:)?(\d+)$/.exec(text)?.[1];
  if (number !== undefined) return { kind: 'pr', name: number };
  const name = text.replace(/^branch:/, '');
  // Git does not allow colons in branch names.
  if (name !== '' && !name.includes(':')) return { kind: 'branch', name };
  throw new CommandFailure('cli.usage', `${JSON.stringify(text)} is neither the number of a pull request nor a branch.`, {
    exitCode: exitCodes.usage,
  });
};
