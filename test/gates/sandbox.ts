import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';

export const repository = resolve(import.meta.dirname, '../..');
export const planted = join(import.meta.dirname, 'planted');

/** What a gate reads besides the sources. */
const configuration = [
  '.dependency-cruiser.cjs',
  '.gitignore',
  '.oxlintrc.json',
  'biome.json',
  'knip.jsonc',
  'package.json',
  'tsconfig.json',
];

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Sandbox extends AsyncDisposable {
  readonly folder: string;
  /** The script of the real package.json, here, with arguments that change only what it prints. */
  run(script: string, ...printing: readonly string[]): Promise<Run>;
}

/**
 * A small repository with the real configuration, real files by name, and planted trees over them. Gates run in it as they run
 * at the root: paths in their rules mean the same, and no gate needs a setting that includes planted files.
 */
export const makeSandbox = async (trees: readonly string[], files: readonly string[] = []): Promise<Sandbox> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'eph-gate-')));
  await using half = new AsyncDisposableStack();
  half.defer(async () => rm(folder, { recursive: true }));
  for (const path of [...configuration, ...files]) await cp(join(repository, path), join(folder, path));
  for (const tree of trees) await cp(join(planted, tree), folder, { recursive: true });
  await linkModules(folder);
  const whole = half.move();
  return {
    folder,
    run: async (script, ...printing) => runScript(script, folder, printing),
    [Symbol.asyncDispose]: async () => whole.disposeAsync(),
  };
};

export const runScript = async (script: string, folder: string, printing: readonly string[] = []): Promise<Run> => {
  const command = (await readScripts())[script];
  if (command === undefined) throw new Error(`package.json has no script '${script}'`);
  return runCommand('sh', ['-c', [command, ...printing].join(' ')], folder);
};

export const readScripts = async (): Promise<Readonly<Record<string, string>>> => {
  const manifest = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  return manifest.scripts;
};

/** The files of the repository with these name endings, apart from plants and from samples, which are repositories of others. */
export const readSources = async (...endings: readonly string[]): Promise<readonly string[]> =>
  (await readFiles(...endings)).filter((path) => !/^test\/(gates\/planted|parts\/samples)\//.test(path));

/** What Git tracks or would track, apart from what is deleted but not committed. */
export const readFiles = async (...endings: readonly string[]): Promise<readonly string[]> => {
  const list = async (...options: readonly string[]): Promise<readonly string[]> => {
    const patterns = endings.map((ending) => `*${ending}`);
    const { stdout } = await runCommand('git', ['ls-files', '-z', ...options, '--', ...patterns], repository);
    return stdout.split('\0').filter((path) => path !== '');
  };
  const deleted = new Set(await list('--deleted'));
  const present = await list('--cached', '--others', '--exclude-standard');
  return present.filter((path) => !deleted.has(path)).toSorted();
};

export const runCommand = async (file: string, args: readonly string[], folder: string): Promise<Run> => {
  const path = [join(repository, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  const options = { cwd: folder, env: { ...process.env, PATH: path, NO_COLOR: '1' }, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((done, fail) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') fail(new Error(`${file} did not run to its end`, { cause: error }));
      else done({ exitCode: Number(error?.code ?? 0), stdout, stderr });
    });
  });
};

/** Third-party modules are shared; those of this repository resolve to the sandbox. */
const linkModules = async (folder: string): Promise<void> => {
  const shared = join(repository, 'node_modules');
  const own = join(folder, 'node_modules');
  await mkdir(join(own, '@eph'), { recursive: true });
  for (const name of await readdir(shared)) {
    if (name !== '@eph') await symlink(join(shared, name), join(own, name));
  }
  for (const path of await readSources('/package.json')) {
    const { name } = JSON.parse(await readFile(join(repository, path), 'utf8')) as { name: string };
    await symlink(join(folder, dirname(path)), join(own, name));
  }
};
