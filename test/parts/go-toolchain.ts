import { execFile } from 'node:child_process';
import { chmod, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getDebianPackage } from './debian-package.ts';
import { findProgram, type Search } from './find-program.ts';

const execute = promisify(execFile);

/** The newest version that the `go.mod` of a pinned module requires. */
export const leastGo = '1.26.2';
export const goSearch: Search = { program: 'go', places: ['/usr/lib/go-*/bin', '/usr/local/go/bin'] };

type Progress = (line: string) => void;

/** Ignores the Go settings of the developer, except for the module proxy and the caches. */
export const goEnvironment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  GO111MODULE: 'on',
  GOFLAGS: '',
  GOTOOLCHAIN: 'local',
  GOWORK: 'off',
  GOROOT: undefined,
  GOOS: undefined,
  GOARCH: undefined,
});

/** An installed Go that can build the parts. */
export const findRecentGo = async (): Promise<string | undefined> => {
  const go = findProgram(goSearch, process.env);
  return go !== undefined && (await isRecent(go)) ? go : undefined;
};

/**
 * The path of a Go that can build the parts. A Go that is too old, as in Debian 12, can still download modules, and every Go
 * release is published as a module: so the old one downloads a newer one.
 */
export const ensureGo = async (part: string, progress: Progress, signal: AbortSignal): Promise<string> => {
  const present = findProgram(goSearch, process.env) ?? (await installGo(part, progress, signal));
  if (await isRecent(present)) return present;
  progress(`${present} is Go ${await readGoVersion(present)}, which is too old: obtaining Go ${leastGo}`);
  return downloadGo(present, signal);
};

export const ensureCompilerOfC = async (part: string, progress: Progress, signal: AbortSignal): Promise<void> => {
  if (findProgram({ program: 'gcc', places: [] }, process.env) !== undefined) return;
  for (const name of ['gcc', 'libc6-dev']) await getDebianPackage(part, name, progress, signal);
};

export interface DownloadedModule {
  readonly folder: string;
  readonly goMod: string;
}

/** In Go's module cache, verified by Go against `go.sum` of the folder, if there is one, and the checksum database. */
export const downloadModule = async (
  go: string,
  moduleAtVersion: string,
  folder: string,
  signal: AbortSignal,
): Promise<DownloadedModule> => {
  const surroundings = { cwd: folder, env: goEnvironment(), signal };
  try {
    const { stdout } = await execute(go, ['mod', 'download', '-json', moduleAtVersion], surroundings);
    const { Dir, GoMod } = JSON.parse(stdout) as { readonly Dir: string; readonly GoMod: string };
    return { folder: Dir, goMod: GoMod };
  } catch (error) {
    signal.throwIfAborted();
    const { stdout: proxy } = await execute(go, ['env', 'GOPROXY'], surroundings);
    const advice = 'if this machine cannot reach that, set GOPROXY to a module proxy that it can';
    throw new Error(`Go could not obtain ${moduleAtVersion} from ${proxy.trim()} (${advice}): ${reasonOf(error)}`, {
      cause: error,
    });
  }
};

const isRecent = async (go: string): Promise<boolean> =>
  (await readGoVersion(go)).localeCompare(leastGo, 'en', { numeric: true }) >= 0;

const readGoVersion = async (go: string): Promise<string> => {
  const { stdout } = await execute(go, ['env', 'GOVERSION'], { cwd: tmpdir(), env: goEnvironment() });
  const version = /^go(\d+(?:\.\d+)*)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${go} calls its version ${JSON.stringify(stdout.trim())}, which is none of Go`);
  return version;
};

const installGo = async (part: string, progress: Progress, signal: AbortSignal): Promise<string> => {
  try {
    for (const name of ['ca-certificates', 'golang-go']) await getDebianPackage(part, name, progress, signal);
  } catch (error) {
    signal.throwIfAborted();
    const advice = `${part} is built with Go, which is not here: put Go ${leastGo} or later on the PATH`;
    throw new Error(`${advice} (https://go.dev/dl). A package could not bring it: ${reasonOf(error)}`, { cause: error });
  }
  const go = findProgram(goSearch, process.env);
  if (go === undefined) throw new Error('the package golang-go is installed, but there is still no go on the PATH');
  return go;
};

const downloadGo = async (go: string, signal: AbortSignal): Promise<string> => {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const version = `v0.0.1-go${leastGo}.${process.platform}-${architecture}`;
  const { folder } = await downloadModule(go, `golang.org/toolchain@${version}`, tmpdir(), signal);
  // Go unpacks modules without execute permission.
  for (const programs of ['bin', join('pkg', 'tool')]) {
    const entries = await readdir(join(folder, programs), { recursive: true, withFileTypes: true });
    for (const entry of entries) if (entry.isFile()) await chmod(join(entry.parentPath, entry.name), 0o555);
  }
  return join(folder, 'bin', 'go');
};

/** With `-json`, Go prints errors to standard output. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const stdout = 'stdout' in error && typeof error.stdout === 'string' ? error.stdout : '';
  return stdout.startsWith('{') ? (JSON.parse(stdout) as { readonly Error: string }).Error : error.message;
};
