import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describeSearch, type Environment, findProgram, partsCache, readVersion } from './find-program.ts';
import { downloadModule, ensureCompilerOfC, ensureGo, goEnvironment, leastGo } from './go-toolchain.ts';
import type { Finding } from './part.ts';
import { putInPlace } from './put-in-place.ts';
import { runWithProgress } from './run-with-progress.ts';

const execute = promisify(execFile);

/** A program built from a Go module at one version. */
export interface GoProgram {
  readonly program: string;
  readonly module: string;
  /** Without the `v`. */
  readonly version: string;
  /** The hash in `go.sum`, which every download must match. */
  readonly sum: string;
  /** The import path of the program. */
  readonly package: string;
  readonly tags: readonly string[];
  /** Values for variables of the program, such as the version it reports. */
  readonly variables: Readonly<Record<string, string>>;
  /** Needs cgo. */
  readonly needsC: boolean;
  /** Folders of the module that it reads at run time; they are copied next to the program. */
  readonly data: readonly string[];
  readonly versionFlag: string;
}

/** On the PATH, if it is the same version up to the patch; else in the parts cache. */
export const findGoProgram = (wanted: GoProgram, env: Environment): Finding => {
  const search = { program: wanted.program, places: [cacheFolder(wanted, env)] };
  const unfit: string[] = [];
  for (const where of [findProgram(search, env), findProgram(search, { ...env, PATH: '' })]) {
    if (where === undefined) continue;
    const version = readVersion(where, wanted.versionFlag);
    if (fits(version, wanted.version)) return { found: true, where, version };
    unfit.push(`${where} is not version ${wanted.version} but ${JSON.stringify(version)}`);
  }
  return { found: false, reason: unfit[0] ?? describeSearch(search, env) };
};

/**
 * Builds the program into the parts cache. Two runs may do so concurrently: each builds in its own folder, and the first to finish
 * moves its folder into place atomically.
 */
export const getGoProgram = async (
  part: string,
  wanted: GoProgram,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const go = await ensureGo(part, progress, signal);
  if (wanted.needsC) await ensureCompilerOfC(part, progress, signal);
  const target = cacheFolder(wanted, process.env);
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), 'building-'));
  try {
    const built = join(folder, 'built');
    const downloaded = await prepareModule({ go, wanted, folder, progress, signal });
    await compile({ go, wanted, folder, progress, signal }, join(built, wanted.program));
    for (const name of wanted.data) await copyFolder(join(downloaded, name), join(built, name));
    await putInPlace(built, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

interface Build {
  readonly go: string;
  readonly wanted: GoProgram;
  readonly folder: string;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Depends on the build options, so that a change of them builds anew. */
const cacheFolder = (wanted: GoProgram, env: Environment): string => {
  const recipe = createHash('sha256').update(JSON.stringify(wanted)).digest('hex').slice(0, 8);
  return join(partsCache(env), 'go', `${wanted.program}-${wanted.version}-${recipe}`);
};

const fits = (text: string, wanted: string): boolean => {
  const minor = (version: string): string | undefined => /(\d+\.\d+)\.\d+/.exec(version)?.[1];
  return minor(text) !== undefined && minor(text) === minor(wanted);
};

/**
 * Writes a module that requires the wanted one, and returns the folder of the latter: `go install` refuses modules that replace some
 * of their dependencies, and replacements apply only in the main module, so they are repeated there.
 */
const prepareModule = async ({ go, wanted, folder, signal }: Build): Promise<string> => {
  const version = `v${wanted.version}`;
  // With a Go version, Go loads only the modules that the program needs; without, the whole dependency graph.
  const goMod = `module eph.example/part\n\ngo ${leastGo}\n\nrequire ${wanted.module} ${version}\n`;
  await writeFile(join(folder, 'go.mod'), goMod);
  await writeFile(join(folder, 'go.sum'), `${wanted.module} ${version} ${wanted.sum}\n`);
  const downloaded = await downloadModule(go, `${wanted.module}@${version}`, folder, signal);
  await writeFile(join(folder, 'go.mod'), [goMod, ...(await readReplacements(go, downloaded.goMod, folder))].join('\n'));
  return downloaded.folder;
};

const compile = async ({ go, wanted, folder, progress, signal }: Build, output: string): Promise<void> => {
  const variables = Object.entries(wanted.variables).map(([name, value]) => `-X '${name}=${value}'`);
  const options = ['-mod=mod', '-trimpath', '-buildvcs=false', `-tags=${wanted.tags.join(',')}`];
  const args = ['build', ...options, `-ldflags=${['-s', '-w', ...variables].join(' ')}`, '-o', output, wanted.package];
  const env = { ...goEnvironment(), CGO_ENABLED: wanted.needsC ? '1' : '0' };
  progress(`building ${wanted.program} ${wanted.version}: minutes, the first time`);
  if ((await runWithProgress(go, args, { folder, env }, progress, signal)) !== 0)
    throw new Error(`go could not build ${wanted.package} ${wanted.version}; its last lines are above`);
  const version = readVersion(output, wanted.versionFlag);
  if (!fits(version, wanted.version))
    throw new Error(`what was built is not ${wanted.program} ${wanted.version}; it says ${JSON.stringify(version)}`);
};

interface ModuleAtVersion {
  readonly Path: string;
  readonly Version?: string;
}

/** Without replacements by folders: the folders are not part of the module, and the replaced modules are published. */
const readReplacements = async (go: string, goMod: string, folder: string): Promise<string[]> => {
  const { stdout } = await execute(go, ['mod', 'edit', '-json', goMod], { cwd: folder, env: goEnvironment() });
  const { Replace } = JSON.parse(stdout) as {
    readonly Replace: readonly { Old: ModuleAtVersion; New: ModuleAtVersion }[] | null;
  };
  const name = ({ Path, Version }: ModuleAtVersion): string => `${Path} ${Version ?? ''}`;
  return (Replace ?? [])
    .filter(({ New }) => New.Version !== undefined)
    .map(({ Old, New }) => `replace ${name(Old)} => ${name(New)}`);
};

/** Files in Go's module cache are read-only; the copies are writable. */
const copyFolder = async (from: string, to: string): Promise<void> => {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const target = join(to, relative(from, entry.parentPath), entry.name);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, await readFile(join(entry.parentPath, entry.name)));
  }
};
