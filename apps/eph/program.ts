import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander';
import { CommandFailure } from './command-failure.ts';
import type { AuditOptions } from './commands/audit.ts';
import type { WhyOptions } from './commands/auth-why.ts';
import type { LabelOptions } from './commands/change-labels.ts';
import type { ExplainOptions } from './commands/config-explain.ts';
import type { ValidateOptions } from './commands/config-validate.ts';
import type { DownOptions } from './commands/down.ts';
import type { EventsOptions } from './commands/events.ts';
import type { ExecOptions } from './commands/exec.ts';
import type { InitOptions } from './commands/init.ts';
import type { ListOptions } from './commands/list.ts';
import type { LogsOptions } from './commands/logs.ts';
import type { RenderOptions } from './commands/render.ts';
import type { StatusOptions } from './commands/status.ts';
import type { TokenOptions } from './commands/tokens.ts';
import type { UpOptions } from './commands/up.ts';
import type { Shell } from './completion/shell-scripts.ts';
import type { ServerOptions } from './connection/connection.ts';
import type { Context, LocalContext } from './context.ts';
import { exitCodes, exitCodesHelp } from './exit-codes.ts';
import { Output, type TextStream } from './output.ts';
import { safeJson, safeLines } from './safe-text.ts';
import { defaultServer } from './server-address.ts';
import type { WaitOptions } from './wait-for-environment.ts';

export interface ProgramOptions extends Omit<Context, 'client' | 'connection' | 'out' | 'err' | 'json' | 'print'> {
  readonly version: string;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
}

/**
 * Runs one command line. A failure becomes a message on standard error and an exit code; it never throws. The exit code is one of
 * `exitCodes`, or with `exec` that of the command.
 */
export const run = async (args: readonly string[], options: ProgramOptions): Promise<number> => {
  const program = new Program(options);
  try {
    return await program.run(args);
  } catch (error) {
    const failure = toFailure(error);
    if (failure === undefined) return exitCodes.ok;
    if (failure.message !== '') {
      const { code, message } = failure;
      // What follows `--` is for another program.
      const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
      options.stderr.write(
        own.includes('--json') ? `${safeJson({ error: { code, message } })}\n` : `eph: ${safeLines(message)}\n`,
      );
    }
    return failure.exitCode;
  }
};

/** Undefined for `--help`, which commander ends with an error too. */
const toFailure = (error: unknown): CommandFailure | undefined => {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return undefined;
    // `eph` alone has printed the help.
    const message = error.code === 'commander.help' ? '' : error.message.replace(/^error: /, '');
    return new CommandFailure('cli.usage', message, { exitCode: exitCodes.usage });
  }
  return new CommandFailure('internal', error instanceof Error ? (error.stack ?? error.message) : String(error));
};

/** Every command has its own file, which is loaded only when it runs. */
class Program {
  readonly #options: ProgramOptions;
  readonly #root: Command;
  #exitCode: number = exitCodes.ok;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#root = new Command('eph')
      .description('Shows and controls the temporary environments that ephd creates from Git.')
      .version(`eph ${options.version}`)
      .option('--json', 'print JSON; errors go to standard error, as JSON too')
      .option('--server <address>', `address of ephd, also EPH_SERVER (default: ${defaultServer})`)
      .option('--profile <name>', 'a server that you have signed in to, also EPH_PROFILE (default: the last one)')
      .configureHelp({ showGlobalOptions: true })
      .configureOutput({
        writeOut: (text) => void options.stdout.write(text),
        writeErr: (text) => void options.stderr.write(text),
        // `run` prints it like every other failure.
        outputError: () => undefined,
      })
      .exitOverride()
      .addHelpText('after', environmentHelp)
      .addHelpText('afterAll', `\n${exitCodesHelp}`);
    this.#addCommands();
  }

  async run(args: readonly string[]): Promise<number> {
    await this.#root.parseAsync(args, { from: 'user' });
    return this.#exitCode;
  }

  #addCommands(): void {
    const { version } = this.#options;
    this.#add('list', 'list environments')
      .alias('ls')
      .option('--project <name>', 'only of this project')
      .option('--phase <phase...>', 'only in these phases, for example Ready or Failed')
      .option('--provider <name>', 'only with a component of this provider')
      .option('--author <name>', 'only of pull requests by this author')
      .option('--label <label>', 'only of pull requests with this label')
      .option('--text <text>', 'only with this in the name, the source, the title or the summary')
      .option('-q, --quiet', 'print only names')
      .action((options: ListOptions) =>
        this.#finish(async (context) => (await import('./commands/list.ts')).list(context, options)),
      );
    this.#add('status [environment]', 'show the state of an environment and its components, or of all environments')
      .option('-a, --all', 'of all, also where the current branch has an environment')
      .option('-w, --watch', 'refresh until Ctrl-C')
      .option('--interval <seconds>', 'how often --watch refreshes', parseSeconds, 1)
      .action((name: string | undefined, options: StatusOptions) =>
        this.#finish(async (context) => (await import('./commands/status.ts')).status(context, name, options)),
      );
    this.#add('logs [environment]', 'print the logs of its components')
      .option('-f, --follow', 'print new lines until Ctrl-C')
      .option('-c, --component <name>', 'only this component')
      .option('-n, --tail <lines>', 'only the newest lines of each component', parseCount)
      .option('--since <time>', 'only lines written since, for example 10m or 2026-01-05T09:00:00Z')
      .option('-p, --previous', 'of the run before the present one, as far as it is still there')
      .option('--timestamps', 'print the time before each line, or - if it is not known')
      .option('--raw', 'do not escape control characters, even on a terminal')
      .action((name: string | undefined, options: LogsOptions) =>
        this.#finish(async (context) => (await import('./commands/logs.ts')).logs(context, name, options)),
      );
    this.#add('exec <environment> [command...]', 'run a command beside a component; without one, a shell')
      .option('-c, --component <name>', 'beside this component instead of the one that answers requests')
      .option('-t, --tty', 'with a terminal (default: if standard input and output are terminals)')
      .option('-T, --no-tty', 'without a terminal: errors apart from output, bytes unchanged')
      .addHelpText('after', execHelp)
      .action((name: string, command: readonly string[], options: ExecOptions) =>
        this.#finish(async (context) => (await import('./commands/exec.ts')).exec(context, name, command, options)),
      );
    this.#add('port-forward <environment> [component] [port]', 'listen on a port here that leads to a port of a component')
      .usage('[options] <environment> [component] [local:]port')
      .addHelpText('after', portForwardHelp)
      .action((name: string, ...words: readonly unknown[]) =>
        this.#finish(async (context) => {
          const given = words.slice(0, 2).filter((one) => typeof one === 'string');
          await (await import('./commands/port-forward.ts')).portForward(context, name, given);
        }),
      );
    this.#add('events [environment]', 'show past events, newest last')
      .option('-f, --follow', 'print new events until Ctrl-C')
      .option('-n, --limit <number>', 'how many past events', parseCount, 50)
      .option('--project <name>', 'only of this project')
      .option('--type <type...>', 'only of these types, for example status.changed')
      .option('--since <time>', 'only events since, for example 10m or 2026-01-05T09:00:00Z')
      .option('--text <text>', 'only with this in the message')
      .action((name: string | undefined, options: EventsOptions) =>
        this.#finish(async (context) => (await import('./commands/events.ts')).events(context, name, options)),
      );
    this.#add('why [environment]', 'explain why it exists, waits or is being removed').action((name: string | undefined) =>
      this.#finish(async (context) => (await import('./commands/why.ts')).why(context, name)),
    );
    this.#add('wtf [environment]', 'check everything between you and an environment, and say what to do').action(
      (name: string | undefined) =>
        this.#finish(async (context) => (await import('./commands/wtf.ts')).wtf(context, { version, name })),
    );
    this.#add('plan', 'show what the next pass would do, without doing it').action(() =>
      this.#finish(async (context) => (await import('./commands/plan.ts')).plan(context)),
    );
    this.#add('render [environment]', 'print what would be applied, such as Kubernetes objects with all values in their places')
      .option('-c, --component <name>', 'only of this component')
      .action((name: string | undefined, options: RenderOptions) =>
        this.#finish(async (context) => (await import('./commands/render.ts')).render(context, name, options)),
      );
    this.#add('open [environment]', 'print its address and open it in a browser')
      .option('--no-browser', 'only print the address')
      .action((name: string | undefined, options: { readonly browser: boolean }) =>
        this.#finish(async (context) => (await import('./commands/open.ts')).open(context, name, options)),
      );
    addWaiting(this.#add('up [source]', 'request an environment for a pull request or branch'))
      .option('--no-wait', 'do not follow it, also without a <source>')
      .option('--project <name>', 'the project; optional if there is only one')
      .addHelpText('after', upHelp)
      .action((source: string | undefined, options: UpOptions) =>
        this.#finish(async (context) => (await import('./commands/up.ts')).up(context, source, options)),
      );
    addWaiting(this.#add('down [environment]', 'withdraw the request and remove the environment'))
      .option('--force', 'delete its branch even if no other branch or tag has its commit')
      .action((name: string | undefined, options: DownOptions) =>
        this.#finish(async (context) => (await import('./commands/down.ts')).down(context, name, options)),
      );
    this.#addTermCommands();
    this.#addInventoryCommands();
    this.#addAccessCommands();
    this.#add('release <environment>', 'allow a removal that the deletion guard holds').action((name: string) =>
      this.#finish(async (context) => (await import('./commands/release.ts')).release(context, name)),
    );
    this.#add('init', 'create an eph.yaml for this folder')
      .option('-y, --yes', 'accept all proposals without asking')
      .option('--force', 'replace an existing eph.yaml')
      .action((options: InitOptions) =>
        this.#finishHere(async (context) => (await import('./commands/init.ts')).init(context, options)),
      );
    this.#addConfigCommands();
    this.#addCompletion();
    this.#add('version', 'print the version')
      .option('--ephd', 'also print the version of ephd')
      .action((options: { readonly ephd?: boolean }) =>
        this.#finish(async (context) => (await import('./commands/version.ts')).version(context, version, options)),
      );
  }

  /** On which terms an environment lives. */
  #addTermCommands(): void {
    this.#add('pin <environment>', 'keep it until the policy of the platform ends it (label preview:keep)')
      .option('--off', 'take the label off')
      .action((name: string, options: LabelOptions) =>
        this.#finish(async (context) => (await import('./commands/change-labels.ts')).pin(context, name, options)),
      );
    this.#add('extend <environment> <time>', 'set how long it may live after its label was set, for example 72h').action(
      (name: string, time: string) =>
        this.#finish(async (context) => (await import('./commands/change-labels.ts')).extend(context, name, time)),
    );
    this.#add('pause <environment>', 'leave it as it is, whatever is pushed (label preview:pause)')
      .option('--off', 'take the label off')
      .action((name: string, options: LabelOptions) =>
        this.#finish(async (context) => (await import('./commands/change-labels.ts')).pause(context, name, options)),
      );
    addWaiting(
      this.#add('redeploy <environment> [components...]', 'remove components and make them again, one after the other'),
    ).action((name: string, components: readonly string[], options: WaitOptions) =>
      this.#finish(async (context) => (await import('./commands/redeploy.ts')).redeploy(context, name, components, options)),
    );
    this.#add('scale <environment> <component> <copies>', 'set how many copies of a component run').action(
      (name: string, component: string, copies: string) =>
        this.#finish(async (context) =>
          (await import('./commands/redeploy.ts')).scale(context, name, component, parseCount(copies)),
        ),
    );
  }

  #addInventoryCommands(): void {
    this.#add('held', 'list environments that nothing removes until an operator releases them').action(() =>
      this.#finish(async (context) => (await import('./commands/inventory.ts')).held(context)),
    );
    this.#add('projects', 'list projects').action(() =>
      this.#finish(async (context) => (await import('./commands/inventory.ts')).projects(context)),
    );
    this.#add('sources <project>', 'list branches, tags and pull requests, whether each gets an environment, and why').action(
      (project: string) => this.#finish(async (context) => (await import('./commands/inventory.ts')).sources(context, project)),
    );
    this.#add('providers', 'list providers, and whether each has a sandbox').action(() =>
      this.#finish(async (context) => (await import('./commands/inventory.ts')).providers(context)),
    );
  }

  /** Who somebody is for ephd, and what they may do. */
  #addAccessCommands(): void {
    const auth = this.#add('auth', 'sign in, and see what you may do');
    auth
      .command('login')
      .description('check a token, store it for the server, and use that server from now on')
      .option('--with-token', 'read the token from standard input')
      .addHelpText('after', loginHelp)
      .action((options: { readonly withToken?: boolean }) => {
        const { stdin, variables } = this.#options;
        const named = this.#root.opts<ServerOptions>();
        return this.#finishHere(async (local) =>
          (await import('./commands/auth-login.ts')).login({ ...local, stdin, variables, named }, options),
        );
      });
    auth
      .command('logout')
      .description('remove the profile and its token from this machine')
      .option('--revoke', 'also end the token on the server')
      .action((options: { readonly revoke?: boolean }) =>
        this.#finish(async (context) => (await import('./commands/auth-logout.ts')).logout(context, options)),
      );
    auth
      .command('status')
      .description('show the server, who you are for it, and all profiles')
      .action(() => this.#finish(async (context) => (await import('./commands/auth-status.ts')).status(context)));
    auth
      .command('switch <profile>')
      .description('use another profile from now on')
      .action((name: string) =>
        this.#finish(async (context) => (await import('./commands/auth-status.ts')).switchProfile(context, name)),
      );
    auth
      .command('token')
      .description('print the token that eph sends to the server')
      .action(() => this.#finish(async (context) => (await import('./commands/auth-status.ts')).token(context)));
    auth
      .command('why <person> <action> [environment]')
      .description('say whether somebody may do something, and which rule decides')
      .option('--project <name>', 'in this project, instead of an environment')
      .addHelpText('after', whyHelp)
      .action((person: string, action: string, name: string | undefined, options: WhyOptions) =>
        this.#finish(async (context) => (await import('./commands/auth-why.ts')).authWhy(context, person, action, name, options)),
      );
    this.#addAdminCommands();
    this.#add('dashboard', 'print a link that signs a browser in as you, and open it')
      .option('--no-browser', 'only print the link')
      .action((options: { readonly browser: boolean }) =>
        this.#finish(async (context) => (await import('./commands/dashboard.ts')).dashboard(context, options)),
      );
  }

  #addAdminCommands(): void {
    const tokens = this.#add('tokens', 'make, list and revoke tokens, as an admin');
    tokens
      .command('create')
      .description('make a token, and print it')
      .requiredOption('--person <person>', 'whose it is: <issuer>#<subject>, also for a machine, for example eph#ci')
      .option('--scope <scope>', 'wake, read, write or admin', 'read')
      .option('--projects <pattern...>', 'only these projects, for example shop and shop-*')
      .option('--for <time>', 'how long it is valid, at most 365d', '30d')
      .option('-q, --quiet', 'print only the token')
      .action((options: TokenOptions) =>
        this.#finish(async (context) => (await import('./commands/tokens.ts')).createToken(context, options)),
      );
    tokens
      .command('list')
      .description('list tokens that history remembers, newest first')
      .option('--person <person>', 'only of this person')
      .action((options: { readonly person?: string }) =>
        this.#finish(async (context) => (await import('./commands/tokens.ts')).listTokens(context, options)),
      );
    tokens
      .command('revoke [id]')
      .description('end a token, or all tokens that a person has now')
      .option('--person <person>', 'all of this person')
      .action((id: string | undefined, options: { readonly person?: string }) =>
        this.#finish(async (context) => (await import('./commands/tokens.ts')).revokeTokens(context, id, options)),
      );
    this.#add('audit', 'show who changed what, who signed in, and what was refused, newest last')
      .option('--project <name>', 'only of this project')
      .option('--type <type...>', 'only changed, signed_in or refused')
      .option('--text <text>', 'only with this in the message')
      .option('--since <time>', 'not before, for example 2h or 2026-01-05T09:00:00Z')
      .option('--until <time>', 'only before')
      .option('-n, --limit <number>', 'how many events', parseCount, 50)
      .option('--after <id>', 'only after the event with this id')
      .option('--export [file]', 'write all events as lines of JSON, to a file or standard output')
      .option('-q, --quiet', 'with --export: do not say how many')
      .action((options: AuditOptions) =>
        this.#finish(async (context) => (await import('./commands/audit.ts')).audit(context, options)),
      );
  }

  #addConfigCommands(): void {
    const config = this.#add('config', 'explain and validate configuration');
    config
      .command('explain [path]')
      .description('show the values of an environment, each with its file and line')
      .option('-e, --environment <environment>', 'the environment; optional if there is only one')
      .option('-a, --all', 'also show overridden values of lower layers')
      .addHelpText('after', explainHelp)
      .action((path: string | undefined, options: ExplainOptions) =>
        this.#finish(async (context) => (await import('./commands/config-explain.ts')).configExplain(context, path, options)),
      );
    config
      .command('validate [file]')
      .description('check an eph.yaml before it is committed; - is standard input')
      .option('--project <name>', 'also check the limits of this project')
      .action((file: string | undefined, options: ValidateOptions) =>
        this.#finish(async (context) =>
          (await import('./commands/config-validate.ts')).configValidate(context, file ?? 'eph.yaml', options),
        ),
      );
  }

  #addCompletion(): void {
    const readTree = async () => (await import('./completion/command-tree.ts')).readCommandTree(this.#root);
    this.#add('completion', 'print a script that completes commands and names in your shell')
      .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
      .addHelpText('after', completionHelp)
      .action((shell: Shell) =>
        this.#finishHere(async ({ out }) => {
          const { renderScript } = await import('./completion/shell-scripts.ts');
          await out.write(renderScript(shell, await readTree()));
        }),
      );
    this.#root.command('__complete [what] [words...]', { hidden: true }).action(async (what = '', words: string[] = []) => {
      const { askable, readLine } = await import('./completion/command-tree.ts');
      const asked = askable.find((one) => one === what);
      if (asked === undefined) return;
      const line = readLine(await readTree(), words.slice(0, -1));
      for (const option of this.#root.options) {
        const value = line.globals.get(option.long ?? '');
        if (value !== undefined) this.#root.setOptionValue(option.attributeName(), value);
      }
      const work = this.#finish(async (context) =>
        (await import('./commands/complete.ts')).complete(context, asked, line, words.at(-1) ?? ''),
      );
      // Such as an address of ephd that is none.
      await work.catch(() => undefined);
    });
  }

  #add(usage: string, description: string): Command {
    return this.#root.command(usage).description(description);
  }

  async #finish(command: (context: Context) => Promise<number | void>): Promise<void> {
    const { stdin, variables, now, interruption } = this.#options;
    const [{ createApiClient }, { openConnection }] = await Promise.all([
      import('./client.ts'),
      import('./connection/connection.ts'),
    ]);
    const connection = await openConnection(this.#root.opts<ServerOptions>(), variables);
    const client = createApiClient(connection);
    await this.#finishHere((local) => command({ ...local, client, connection, stdin, variables, now, interruption }));
  }

  /** For commands that need no ephd. */
  async #finishHere(command: (context: LocalContext) => Promise<number | void>): Promise<void> {
    const { stdout, stderr, folder, variables, openPrompter } = this.#options;
    const { json = false } = this.#root.opts<{ json?: boolean }>();
    const out = new Output(stdout, variables);
    const err = new Output(stderr, variables);
    const print: LocalContext['print'] = (value, render) => (json ? out.json(value) : out.lines(render()));
    this.#exitCode = (await command({ out, err, json, print, folder, openPrompter })) ?? exitCodes.ok;
  }
}

/** For commands whose request takes effect later. */
const addWaiting = (command: Command): Command =>
  command
    .option('--wait', 'follow it to the end')
    .option('--timeout <duration>', 'how long --wait waits, for example 90s', '10m')
    .option('-q, --quiet', 'print only the result');

const environmentHelp = `
An <environment> is a name, id, alias, branch or tag, or a unique prefix of one. Without it, status, logs, why, open and
down take that of the branch that is checked out.`;

const completionHelp = `
  source <(eph completion bash)                                    in ~/.bashrc
  source <(eph completion zsh)                                     in ~/.zshrc, after compinit
  eph completion fish > ~/.config/fish/completions/eph.fish`;

const upHelp = `
Without a <source>, it is the current branch, or its pull request, and eph follows it until it is ready.
A <source> is the number of a pull request, or a branch. ephd writes the request to Git:
  eph up 42                adds the label from eph.yaml to the pull request
  eph up feature/login     does the same for its pull request; in plain Git, creates branch preview/feature/login`;

const execHelp = `
The command runs in the sandbox of the component, with its files, variables and limits, and ends with eph.
Its exit code is that of eph. Write -- before a command that has options:
  eph exec shop                                    starts sh, on a terminal
  eph exec shop -- ls -l                           runs a command
  eph exec -c worker shop -- sh -c 'echo $QUEUE'   runs it beside another component
  eph exec shop -- tar c data > data.tar           writes the output to a file
  eph exec shop -- sh < repair.sh                  gives it input from a file
On a terminal, the command can do with yours what every program can that you run there. With -T, or where standard
input is not a terminal, control characters are escaped on a terminal and unchanged elsewhere.`;

const portForwardHelp = `
It listens on 127.0.0.1 until Ctrl-C. Without a [component], it is the one that answers requests.
  eph port-forward shop 8080            127.0.0.1:8080 leads to port 8080
  eph port-forward shop db 5433:5432    127.0.0.1:5433 leads to port 5432 of another component
  eph port-forward shop db 0:5432       any port that is free here`;

const loginHelp = `
An admin makes tokens with eph tokens create. The server is that of --server or --profile. --profile also names a new
profile; without it, the host of the server is its name.
  eph auth login --server https://eph.example.com
  eph auth login --server https://eph.example.com --profile work --with-token < token.txt`;

const whyHelp = `
A <person> is me, or <issuer>#<subject>. An <action> is a command such as down, or a permission such as logs.read.
  eph auth why me down shop-serene-ocean-4207
  eph auth why https://id.example.com#4711 logs --project shop`;

const explainHelp = `
A [path] is a component, a key in it, or a key of every component. The exact path of a value also shows its lower layers:
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
