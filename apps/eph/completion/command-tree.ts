import type { Argument, Command, Option } from 'commander';

/** The commands of eph as data, for scripts that complete them. */
export interface CommandTree {
  /** Of every command. */
  readonly options: readonly CompletedOption[];
  readonly commands: readonly CompletedCommand[];
}

export interface CompletedCommand {
  /** As it is typed, without `eph`. */
  readonly path: string;
  /** The path of the command that it is in; empty for those of eph itself. */
  readonly parent: string;
  /** With aliases. */
  readonly names: readonly string[];
  readonly description: string;
  readonly options: readonly CompletedOption[];
  readonly operands: readonly { readonly value: Value; readonly isVariadic: boolean }[];
}

export interface CompletedOption {
  /** Such as `-q` and `--quiet`. */
  readonly flags: readonly string[];
  readonly description: string;
  /** Undefined if it has none. */
  readonly value: Value | undefined;
}

/** What eph can list. */
export const askable = ['environments', 'projects', 'components', 'phases'] as const;
export type Askable = (typeof askable)[number];

export type Value =
  | { readonly type: 'ask'; readonly what: Askable }
  | { readonly type: 'words'; readonly words: readonly string[] }
  | { readonly type: 'files' }
  | { readonly type: 'text' };

/** By the names of arguments and options, which mean the same in every command. */
const valuesByName: Readonly<Record<string, Value>> = {
  environment: { type: 'ask', what: 'environments' },
  project: { type: 'ask', what: 'projects' },
  component: { type: 'ask', what: 'components' },
  components: { type: 'ask', what: 'components' },
  phase: { type: 'ask', what: 'phases' },
  file: { type: 'files' },
};

const valueOf = (name: string, { argChoices }: Pick<Argument | Option, 'argChoices'>): Value => {
  if (argChoices !== undefined) return { type: 'words', words: argChoices };
  return valuesByName[name] ?? { type: 'text' };
};

export const readCommandTree = (root: Command): CommandTree => ({
  options: optionsOf(root),
  commands: visibleCommands(root).flatMap((command) => readCommand(command, '')),
});

const readCommand = (command: Command, parent: string): readonly CompletedCommand[] => {
  const path = `${parent} ${command.name()}`.trim();
  const names = [command.name(), ...command.aliases()];
  const operands = command.registeredArguments.map((one) => ({ value: valueOf(one.name(), one), isVariadic: one.variadic }));
  const own = { path, parent, names, description: command.description(), options: optionsOf(command), operands };
  return [own, ...visibleCommands(command).flatMap((one) => readCommand(one, path))];
};

/** `help` completes nothing that `--help` does not. */
const visibleCommands = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');

const optionsOf = (command: Command): readonly CompletedOption[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help')
    .map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: option.required || option.optional ? valueOf(option.attributeName(), option) : undefined,
    }));

export interface ReadLine {
  /** By the name of the flag. */
  readonly globals: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/** What was typed before the word that is completed. Mistakes are left for the command itself. */
export const readLine = ({ options, commands }: CommandTree, words: readonly string[]): ReadLine => {
  const globals = new Map<string, string>();
  const operands: string[] = [];
  let path = '';
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const [flag = '', attached] = word.split(/=(.*)/s);
    const own = commands.find((one) => one.path === path)?.options ?? [];
    const option = word.startsWith('-') ? [...own, ...options].find(({ flags }) => flags.includes(flag)) : undefined;
    const command = commands.find(({ parent, names }) => parent === path && names.includes(word));
    if (option?.value !== undefined) {
      // Bash splits `--project=shop` into three words.
      if (attached === undefined) index += words[index + 1] === '=' ? 2 : 1;
      if (options.includes(option)) globals.set(option.flags.at(-1) ?? '', attached ?? words[index] ?? '');
    } else if (word.startsWith('-')) continue;
    else if (operands.length === 0 && command !== undefined) path = command.path;
    else operands.push(word);
  }
  return { globals, operands };
};
