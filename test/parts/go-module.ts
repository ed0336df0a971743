import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
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
  /** The arguments with which it prints its version, separated by spaces. */
  readonly versionFlag: string;
  /** The version, without the `v`, of the modules that it replaces by its own folders, if it requires a version that does not exist. */
  readonly siblings?: string;
}

/** On the PATH, if it is the same version up to the patch; else in the parts cache. */
export const findGoProgram = (wanted: GoProgram, env: Environment): Finding => {
  const cached = cacheFolder(wanted, env);
  const search = { program: wanted.program, places: [cached] };
  const unfit: string[] = [];
  for (const where of [findProgram(search, env), findProgram(search, { ...env, PATH: '' })]) {
    if (where === undefined) continue;
    // It was asked when it was built; most suites ask for several programs, and starting a large one takes a while.
    if (where === join(cached, wanted.program)) return { found: true, where, version: wanted.version };
    const version = readVersion(where, wanted.versionFlag);
    if (fits(version, wanted.version)) return { found: true, where, version };
    unfit.push(`${where} is not version ${wanted.version} but ${JSON.stringify(version)}`);
  }
  return { found: false, reason: unfit[0] ?? describeSearch(search, env) };
};

export const getGoProgram = (
  part: string,
  wanted: GoProgram,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => getGoPrograms(part, [wanted], progress, signal);

/**
 * Builds programs of one module into the parts cache. They differ only in name, package and version flag, so that one run of Go, which
 * loads their dependencies once, builds all of them. Two runs may do so concurrently: each builds in its own folder, and the first to
 * finish moves each program into place atomically.
 */
export const getGoPrograms = async (
  part: string,
  programs: readonly [GoProgram, ...GoProgram[]],
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const [wanted] = programs;
  const go = await ensureGo(part, progress, signal);
  if (wanted.needsC) await ensureCompilerOfC(part, progress, signal);
  const cache = dirname(cacheFolder(wanted, process.env));
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'building-'));
  try {
    const downloaded = await prepareModule({ go, wanted, folder, progress, signal });
    const built = await compile({ go, wanted, folder, progress, signal }, programs);
    for (const [one, place] of built) {
      for (const name of one.data) await copyFolder(join(downloaded, name), join(place, name));
      await putInPlace(place, cacheFolder(one, process.env));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

interface Build {
  readonly go: string;
  /** One of the programs, for what they have in common. */
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
  const replacements = await readReplacements(go, downloaded.goMod, folder, wanted.siblings);
  await writeFile(join(folder, 'go.mod'), [goMod, ...replacements].join('\n'));
  return downloaded.folder;
};

/** Returns the programs, each with a folder of its own. */
const compile = async (
  { go, wanted, folder, progress, signal }: Build,
  programs: readonly GoProgram[],
): Promise<(readonly [GoProgram, string])[]> => {
  const variables = Object.entries(wanted.variables).map(([name, value]) => `-X '${name}=${value}'`);
  const options = ['-mod=mod', '-trimpath', '-buildvcs=false', `-tags=${wanted.tags.join(',')}`];
  const output = join(folder, 'output');
  await mkdir(output);
  const packages = programs.map((one) => one.package);
  const args = ['build', ...options, `-ldflags=${['-s', '-w', ...variables].join(' ')}`, '-o', output, ...packages];
  const env = { ...goEnvironment(), CGO_ENABLED: wanted.needsC ? '1' : '0' };
  const names = programs.map(({ program }) => program).join(', ');
  progress(`building ${names} ${wanted.version}: minutes, the first time`);
  if ((await runWithProgress(go, args, { folder, env }, progress, signal)) !== 0)
    throw new Error(`go could not build ${packages.join(' ')} ${wanted.version}; its last lines are above`);
  const places = programs.map((one) => [one, join(folder, one.program)] as const);
  for (const [one, place] of places) {
    await mkdir(place);
    await rename(join(output, programName(one.package)), join(place, one.program));
    const version = readVersion(join(place, one.program), one.versionFlag);
    if (!fits(version, one.version))
      throw new Error(`what was built is not ${one.program} ${one.version}; it says ${JSON.stringify(version)}`);
  }
  return places;
};

/** What Go calls a program: after the last part of the path that is not a major version. */
const programName = (path: string): string => basename(path.replace(/\/v\d+$/, ''));

interface ModuleAtVersion {
  readonly Path: string;
  readonly Version?: string;
}

/** The folders that some modules are replaced by are not part of the module; the replaced modules are published. */
const readReplacements = async (go: string, goMod: string, folder: string, siblings: string | undefined): Promise<string[]> => {
  const { stdout } = await execute(go, ['mod', 'edit', '-json', goMod], { cwd: folder, env: goEnvironment() });
  const { Replace } = JSON.parse(stdout) as {
    readonly Replace: readonly { Old: ModuleAtVersion; New: ModuleAtVersion }[] | null;
  };
  const name = ({ Path, Version }: ModuleAtVersion): string => `${Path} ${Version ?? ''}`;
  return (Replace ?? []).flatMap(({ Old, New }) => {
    if (New.Version !== undefined) return [`replace ${name(Old)} => ${name(New)}`];
    return siblings === undefined ? [] : [`replace ${name(Old)} => ${Old.Path} v${siblings}`];
  });
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
