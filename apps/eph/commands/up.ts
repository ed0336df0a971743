import type { EnvironmentDetailView, EnvironmentRequest } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import { type CurrentBranch, findCurrentBranch } from '../find-current-environment.ts';
import { countUnpushed } from '../read-checkout.ts';
import { renderAnswer } from '../request-view.ts';
import { safeLine } from '../safe-text.ts';
import { checkTimeout, type WaitOptions, waitUntilReady } from '../wait-for-environment.ts';

export interface UpOptions extends WaitOptions {
  readonly project?: string;
}

/** @param text without it the current branch, which is then followed until it is ready */
export const up = async (context: Context, text: string | undefined, options: UpOptions): Promise<void> => {
  checkTimeout(options);
  const { client, out, json, print } = context;
  const { project, wait = text === undefined, quiet = false } = options;
  const current = text === undefined ? await findCurrentBranch(context, project) : undefined;
  if (current !== undefined) await warnOfUnpushed(context, current);
  const source = text === undefined ? { kind: 'branch' as const, name: current?.branch ?? '' } : parseSource(text);
  const asked = current?.project ?? project;
  const answer = await client
    .createEnvironment({ body: { source, ...(asked === undefined ? {} : { project: asked }) } })
    .catch((error: unknown) => {
      throw explainMissing(error, current);
    });
  // By id, because people copy the command and names are untrusted.
  const advice = safeLine(`Follow it with \`eph status --watch ${answer.environment}\`.`);
  if (!wait) return print(answer, () => (quiet ? [safeLine(answer.environment)] : [...renderAnswer(answer), advice]));
  if (!json && !quiet) await out.lines(renderAnswer(answer));
  const environment = await waitUntilReady(context, answer.environment, createIsNoticed(answer.commit), options);
  await print(environment, () => [safeLine(environment.url)]);
};

/** Until ephd has noticed the commit, the environment has another one. If it then gets a third one, that is a newer push. */
const createIsNoticed = (commit: string | null): ((environment: EnvironmentDetailView) => boolean) => {
  let first: string | null | undefined;
  return (environment) => {
    if (first === undefined) first = environment.commit;
    return environment.commit === commit || environment.commit !== first;
  };
};

const warnOfUnpushed = async (context: Context, { remote, branch }: CurrentBranch): Promise<void> => {
  const unpushed = remote === undefined ? 0 : ((await countUnpushed(context, remote, branch)) ?? 0);
  if (unpushed > 0)
    await context.err.lines([safeLine(`${remote} lacks ${count(unpushed, 'commit')} of ${branch}. ephd uses what is pushed.`)]);
};

const explainMissing = (error: unknown, current: CurrentBranch | undefined): unknown => {
  if (!(error instanceof CommandFailure && error.code === 'api.not_found') || current?.remote === undefined) return error;
  // People copy the command, and whoever made the checkout named the remote.
  const remote = /^\w[\w.-]*$/.test(current.remote) ? current.remote : '<remote>';
  return new CommandFailure(error.code, `${error.message}. Push it first: \`git push --set-upstream ${remote} HEAD\`.`, {
    exitCode: error.exitCode,
    cause: error,
  });
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
