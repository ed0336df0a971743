import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CommandFailure } from './command-failure.ts';
import type { Context } from './context.ts';
import { exitCodes } from './exit-codes.ts';

export interface Remote {
  readonly name: string;
  /** May contain credentials. */
  readonly url: string;
}

export interface Checkout {
  /** Where its repository is: the folder `.git`, or a bare repository. */
  readonly repository: string;
  /** Undefined while HEAD is detached. */
  readonly branch: string | undefined;
  readonly remotes: readonly Remote[];
}

type Place = Pick<Context, 'folder' | 'variables'>;

export const readCheckout = async (place: Place): Promise<Checkout> => {
  const repository = await git(place, ['rev-parse', '--path-format=absolute', '--git-common-dir']).catch((error: unknown) => {
    throw explain(error, place.folder());
  });
  const [branch, remotes] = await Promise.all([
    // Fails while HEAD is detached.
    git(place, ['symbolic-ref', '--quiet', '--short', 'HEAD']).catch(() => undefined),
    git(place, ['remote', '--verbose']),
  ]);
  return { repository, branch, remotes: parseRemotes(remotes) };
};

/** How many commits of HEAD the remote branch lacks, as far as this checkout knows; undefined if it knows no such branch. */
export const countUnpushed = async (place: Place, remote: string, branch: string): Promise<number | undefined> => {
  try {
    return Number(await git(place, ['rev-list', '--count', `refs/remotes/${remote}/${branch}..HEAD`, '--']));
  } catch {
    // It was never fetched or pushed. Nothing depends on the number but a warning.
    return undefined;
  }
};

const parseRemotes = (text: string): readonly Remote[] =>
  [...text.matchAll(/^(?<name>[^\t\n]+)\t(?<url>.+) \(fetch\)/gm)].map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    url: groups?.['url'] ?? '',
  }));

const execute = promisify(execFile);
/** For a folder on a network disk that does not answer. */
const timeout = 10_000;

/** The configuration of a checkout is untrusted: it must neither name a program to run nor make Git fetch what is missing. */
const harmless = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

const git = async ({ folder, variables }: Place, args: readonly string[]): Promise<string> => {
  const { PATH, HOME, XDG_CONFIG_HOME } = variables;
  const env = {
    PATH,
    HOME,
    XDG_CONFIG_HOME,
    LC_ALL: 'C',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
  };
  const { stdout } = await execute('git', ['-C', folder(), ...harmless, ...args], { env, timeout });
  return stdout.replace(/\n$/, '');
};

const explain = (error: unknown, folder: string): CommandFailure => {
  const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
  const dubious = /dubious ownership in repository at '(?<path>.*)'/.exec(stderr)?.groups?.['path'];
  if (code === 'ENOENT') return failure('eph runs Git to find the current branch, and there is no `git` here.', error);
  if (/not a git repository|cannot change to/.test(stderr)) return failure(`${folder} is not in a Git checkout.`, error);
  if (dubious !== undefined)
    return failure(
      `Git does not read ${dubious}, because it belongs to another user. If you trust its content, allow it with ` +
        '`git config --global --add safe.directory <path>`.',
      error,
    );
  return failure(`Git cannot read ${folder}: ${stderr.split('\n')[0] || 'it did not answer'}.`, error);
};

const failure = (message: string, cause: unknown): CommandFailure =>
  new CommandFailure('cli.no_checkout', message, { exitCode: exitCodes.notFound, cause });
