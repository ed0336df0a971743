import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, multiselect, password, select, text } from '@clack/prompts';
import { CommandFailure } from './command-failure.ts';
import type { Choice, Prompter } from './prompter.ts';
import { safeLine } from './safe-text.ts';

export const createClackPrompter = (input: Readable, output: Writable): Prompter => ({
  text: async ({ message, proposal, validate }) =>
    answered(
      await text({
        message: safeLine(message),
        initialValue: proposal,
        validate: (answer = '') => validate?.(answer),
        input,
        output,
      }),
    ),
  choose: async ({ message, choices }) =>
    answered(await select({ message: safeLine(message), options: choices.map(toOption), input, output })),
  chooseSeveral: async ({ message, choices }) =>
    answered(
      await multiselect({
        message: safeLine(message),
        options: choices.map(toOption),
        initialValues: choices.map(({ value }) => value),
        required: true,
        input,
        output,
      }),
    ),
  confirm: async (message) => answered(await confirm({ message: safeLine(message), input, output })),
  // Without a mask: a token would fill the screen with it.
  secret: async (message) => answered(await password({ message: safeLine(message), mask: '', input, output })),
});

const toOption = ({ value, label, hint }: Choice) => ({
  value,
  label: safeLine(label),
  ...(hint === undefined ? {} : { hint: safeLine(hint) }),
});

const answered = <T>(answer: T): Exclude<T, symbol> => {
  if (isCancel(answer)) throw new CommandFailure('cli.cancelled', 'Cancelled.');
  return answer as Exclude<T, symbol>;
};
