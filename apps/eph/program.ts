import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { CommandFailure } from './command-failure.ts';
import type { ExplainOptions } from './commands/config-explain.ts';
import type { ValidateOptions } from './commands/config-validate.ts';
import type { InitOptions } from './commands/init.ts';
import type { LogsOptions } from './commands/logs.ts';
import type { StatusOptions } from './commands/status.ts';
import type { UpOptions } from './commands/up.ts';
import type { Context, LocalContext } from './context.ts';
import { type ExitCode, exitCodes, exitCodesHelp } from './exit-codes.ts';
import { Output, type TextStream } from './output.ts';
import type { Prompter } from './prompter.ts';
import { safeJson, safeLines } from './safe-text.ts';
import { defaultServer, parseServer } from './server-address.ts';

/** The process around the program. */
export interface ProgramOptions {
  readonly version: string;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Where the command was given. */
  readonly folder: () => string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly interruption: () => AbortSignal;
  /** Undefined when nobody is there to answer. */
  readonly openPrompter: () => Promise<Prompter | undefined>;
}

/** Runs one command line to its end. Failures become a message on standard error and an exit code; it never throws. */
export const run = async (args: readonly string[], options: ProgramOptions): Promise<ExitCode> => {
  const program = new Program(options);
  try {
    return await program.run(args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure === undefined) return exitCodes.ok;
    if (failure.message !== '') {
      const { code, message } = failure;
      options.stderr.write(
        args.includes('--json') ? `${safeJson({ error: { code, message } })}\n` : `eph: ${safeLines(message)}\n`,
      );
    }
    return failure.exitCode;
  }
};

/** Undefined when it was no failure: help that was asked for ends the same way as a mistake. */
const toFailure = (error: unknown): CommandFailure | undefined => {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    // `eph` alone: the help has been shown and is message enough.
    const message = error.code === 'commander.help' ? '' : error.message.replace(/^error: /, '');
    return new CommandFailure('cli.usage', message, { exitCode: exitCodes.usage });
  }
  return new CommandFailure('internal', error instanceof Error ? (error.stack ?? error.message) : String(error));
};

/** The command line. Every command lives in a file of its own that is loaded when it is asked for. */
class Program {
  readonly #options: ProgramOptions;
  readonly #root: Command;
  #exitCode: ExitCode = exitCodes.ok;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#root = new Command('eph')
      .description('Looks at the temporary environments that ephd makes from Git.')
      .version(`eph ${options.version}`)
      .option('--json', 'print the answer as JSON; errors go to standard error, as JSON too')
      .option('--server <address>', `address of ephd, also EPH_SERVER (default: ${defaultServer})`)
      .configureHelp({ showGlobalOptions: true })
      .configureOutput({
        writeOut: (text) => void options.stdout.write(text),
        writeErr: (text) => void options.stderr.write(text),
        // `run` prints it, in the same way as every other failure.
        outputError: () => undefined,
      })
      .exitOverride()
      .addHelpText('after', '\nAn <environment> is a name, id, alias, branch or tag, or a beginning that fits only one.')
      .addHelpText('afterAll', `\n${exitCodesHelp}`);
    this.#addCommands();
  }

  async run(args: readonly string[]): Promise<ExitCode> {
    await this.#root.parseAsync(args, { from: 'user' });
    return this.#exitCode;
  }

  #addCommands(): void {
    const { version } = this.#options;
    this.#add('list', 'all environments')
      .alias('ls')
      .action(() => this.#finish(async (context) => (await import('./commands/list.ts')).list(context)));
    this.#add('status [environment]', 'how an environment is, with its components; without a name, all of them')
      .option('-w, --watch', 'show it again and again until Ctrl-C')
      .option('--interval <seconds>', 'how often --watch looks', parseSeconds, 1)
      .action((name: string | undefined, options: StatusOptions) =>
        this.#finish(async (context) => (await import('./commands/status.ts')).status(context, name, options)),
      );
    this.#add('logs <environment>', 'what its components have written')
      .option('-f, --follow', 'go on with what they write from now on, until Ctrl-C')
      .option('-c, --component <name>', 'only this one')
      .option('-n, --tail <lines>', 'at most so many of the newest lines of each', parseCount)
      .option('--raw', 'leave control characters as they are, also on a terminal')
      .action((name: string, options: LogsOptions) =>
        this.#finish(async (context) => (await import('./commands/logs.ts')).logs(context, name, options)),
      );
    this.#add('events [environment]', 'what has happened, newest last')
      .option('-n, --limit <number>', 'at most so many', parseCount, 50)
      .action((name: string | undefined, options: { readonly limit: number }) =>
        this.#finish(async (context) => (await import('./commands/events.ts')).events(context, name, options)),
      );
    this.#add('why <environment>', 'why it exists, waits, or is being removed')
      .alias('wtf')
      .action((name: string) => {
        const heading = this.#root.args[0] === 'wtf' ? 'What the eph?' : undefined;
        return this.#finish(async (context) => (await import('./commands/why.ts')).why(context, name, heading));
      });
    this.#add('plan', 'what the next pass would do; nothing is done').action(() =>
      this.#finish(async (context) => (await import('./commands/plan.ts')).plan(context)),
    );
    this.#add('open <environment>', 'print its address and open it in a browser')
      .option('--no-browser', 'only print the address')
      .action((name: string, options: { readonly browser: boolean }) =>
        this.#finish(async (context) => (await import('./commands/open.ts')).open(context, name, options)),
      );
    this.#add('up <source>', 'wish for an environment of a pull request or branch')
      .option('--project <name>', 'which one it is of; not needed while there is only one')
      .addHelpText('after', upHelp)
      .action((source: string, options: UpOptions) =>
        this.#finish(async (context) => (await import('./commands/up.ts')).up(context, source, options)),
      );
    this.#add('down <environment>', 'take the wish back, and with it the environment')
      .option('--force', 'delete its branch although nothing else may lead to the work on it')
      .action((name: string, options: { readonly force?: boolean }) =>
        this.#finish(async (context) => (await import('./commands/down.ts')).down(context, name, options)),
      );
    this.#add('release <environment>', 'let its removal go on when the deletion guard holds it').action((name: string) =>
      this.#finish(async (context) => (await import('./commands/release.ts')).release(context, name)),
    );
    this.#add('init', 'propose an eph.yaml for what is in this folder')
      .option('-y, --yes', 'ask nothing and take what is proposed')
      .option('--force', 'replace the eph.yaml that is there')
      .action((options: InitOptions) =>
        this.#finishHere(async (context) => (await import('./commands/init.ts')).init(context, options)),
      );
    this.#addConfigCommands();
    this.#add('version', 'which eph this is')
      .option('--ephd', 'and which ephd answers')
      .action((options: { readonly ephd?: boolean }) =>
        this.#finish(async (context) => (await import('./commands/version.ts')).version(context, version, options)),
      );
  }

  #addConfigCommands(): void {
    const config = this.#add('config', 'where values come from, and whether a file is right');
    config
      .command('explain [path]')
      .description('the values of an environment, each with the file and line it comes from')
      .option('-e, --environment <environment>', 'which one; not needed while there is only one')
      .option('-a, --all', 'also what the layers below say')
      .addHelpText('after', explainHelp)
      .action((path: string | undefined, options: ExplainOptions) =>
        this.#finish(async (context) => (await import('./commands/config-explain.ts')).configExplain(context, path, options)),
      );
    config
      .command('validate [file]')
      .description('what ephd would say to an eph.yaml, before it is committed; - is standard input')
      .option('--project <name>', 'hold it against the limits of this project')
      .action((file: string | undefined, options: ValidateOptions) =>
        this.#finish(async (context) =>
          (await import('./commands/config-validate.ts')).configValidate(context, file ?? 'eph.yaml', options),
        ),
      );
  }

  #add(usage: string, description: string): Command {
    return this.#root.command(usage).description(description);
  }

  async #finish(command: (context: Context) => Promise<ExitCode>): Promise<void> {
    const { stdin, variables, now, interruption } = this.#options;
    const { server } = this.#root.opts<{ server?: string }>();
    const address = parseServer(server ?? (variables['EPH_SERVER'] || defaultServer));
    const { Client } = await import('./client.ts');
    await this.#finishHere((local) => command({ ...local, client: new Client(address), stdin, variables, now, interruption }));
  }

  /** For commands that do without ephd. */
  async #finishHere(command: (context: LocalContext) => Promise<ExitCode>): Promise<void> {
    const { stdout, stderr, folder, variables, openPrompter } = this.#options;
    const { json = false } = this.#root.opts<{ json?: boolean }>();
    const out = new Output(stdout, variables);
    const err = new Output(stderr, variables);
    this.#exitCode = await command({ out, err, json, folder, openPrompter });
  }
}

const upHelp = `
A <source> is the number of a pull request, or a branch. What ephd does about it is written in Git, and nowhere else:
  eph up 42                the pull request gets the label that eph.yaml asks for
  eph up feature/login     its pull request does; in plain Git, a branch preview/feature/login is made`;

const explainHelp = `
A [path] is a component, a key in it or a key of every component; the exact path of one value shows the layers below it, too:
  eph config explain web
  eph config explain web.env.API_URL
  eph config explain replicas`;

const parseCount = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
};

const parseSeconds = (text: string): number => {
  const seconds = Number(text);
  if (!(seconds >= 0.1 && seconds <= 3_600)) throw new InvalidArgumentError('It must be a number from 0.1 to 3600.');
  return seconds;
};
