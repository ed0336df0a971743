import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { EphError } from '@eph/contract';
import { enterSandbox } from './enter-sandbox.ts';
import { isPermission, sentence } from './faults.ts';
import { writeHidden } from './hidden-file.ts';
import { closeRoutes, findResolvers, pastaFor } from './own-network.ts';
import { cacheVariables } from './package-caches.ts';
import { appFolder, type Command, type Sandbox, withoutSandbox } from './sandbox.ts';
import { compileFilter, hasFilter } from './seccomp.ts';
import { markerVariable } from './service-environment.ts';
import { quote } from './shell.ts';

export interface BubblewrapOptions {
  /** Where files for the sandbox are written at the start. */
  readonly folder: string;
  /** Folders of programs that services may use besides those of the system. */
  readonly tools: readonly string[];
  readonly network: 'own' | 'shared';
  /** Private ranges that services with a network of their own may reach, such as `10.1.0.0/16`. */
  readonly reach: readonly string[];
}

const systemPath = '/usr/local/bin:/usr/bin:/bin';

/** Where a service finds its HOME, and what prepares it the packages, whatever they are called outside. */
const [homeFolder, cacheFolder] = ['/home/app', '/cache'];

/** Of `/tmp` and of `/dev/shm`, which are in memory. */
const temporaryBytes = 256 * 1024 * 1024;

/** Public, and needed to resolve names, verify certificates, print times and load libraries. */
const publicFiles = [
  'alternatives',
  'ca-certificates.conf',
  'gai.conf',
  'group',
  'host.conf',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'passwd',
  'pki/tls/certs',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'timezone',
];

/** Where services cannot be confined, they run without a sandbox, which says why. */
export const findSandbox = (options: BubblewrapOptions): Sandbox => {
  const sandbox = createSandbox(options);
  const { isolation } = sandbox;
  const why = isolation.state === 'trusted' ? isolation.because : isolation.lacks.network;
  if (options.network === 'own' && why !== undefined)
    throw new EphError('config.invalid', `the services of a provider cannot get networks of their own: ${why}`);
  return sandbox;
};

const createSandbox = (options: BubblewrapOptions): Sandbox => {
  const { arch, platform } = process;
  if (platform !== 'linux') return withoutSandbox(`${platform} has no sandbox; use Linux`);
  if (process.getuid?.() === 0) return withoutSandbox('ephd runs as root; run it as an ordinary user');
  if (!hasFilter(arch)) return withoutSandbox(`there is no filter of system calls for ${arch}`);
  let files: SandboxFiles;
  try {
    files = writeFiles(options.folder, compileFilter(arch));
  } catch (error) {
    return withoutSandbox(`the files of sandboxes cannot be written: ${sentence(error)}`);
  }
  const nodeFolder = dirname(realpathSync(process.execPath));
  const inside = <T extends Pick<Command, 'variables'>>(command: T): T => ({
    ...command,
    variables: variablesInside(command.variables, nodeFolder),
  });
  const confineInside = createConfine({ ...options, tools: [nodeFolder, ...options.tools] }, files);
  const confine: Sandbox['confine'] = (command) => confineInside(inside(command));
  const fault = tryOut(confine, undefined);
  if (fault !== undefined) return withoutSandbox(fault);
  const network = tryOut(confine, { port: 0, reaches: [] });
  return {
    isolation: { state: 'sandboxed', network: options.network, lacks: network === undefined ? {} : { network } },
    confine,
    enter: (entry) => enterSandbox(inside(entry), files.filter, systemPath),
  };
};

interface SandboxFiles {
  readonly filter: string;
  readonly etc: string;
}

const writeFiles = (folder: string, content: Buffer): SandboxFiles => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const filter = join(folder, 'system-calls.bpf');
  writeFileSync(filter, content);
  return { filter, etc: copyPublicFiles(folder) };
};

/**
 * One folder instead of twenty mounts, which would take longer than everything else that starts a sandbox. Running services keep the
 * copy that they were started with, so a changed one gets a new folder.
 */
const copyPublicFiles = (folder: string): string => {
  const present = publicFiles.filter((name) => existsSync(join('/etc', name)));
  const stamps = present.map((name) => `${name} ${statSync(join('/etc', name)).mtimeMs}`);
  const etc = join(folder, `etc-${createHash('sha256').update(stamps.join('\n')).digest('hex').slice(0, 16)}`);
  if (existsSync(etc)) return etc;
  const draft = mkdtempSync(join(folder, '.etc-'));
  for (const name of present)
    try {
      cpSync(join('/etc', name), join(draft, name), { recursive: true, verbatimSymlinks: true });
    } catch (error) {
      // What ephd may not read is not public here.
      if (!isPermission(error)) throw error;
    }
  writeFileSync(join(draft, 'resolv.conf'), '');
  chmodSync(draft, 0o755);
  renameSync(draft, etc);
  return etc;
};

/** Also changes what running services with a network of their own see. */
const writeResolvers = (folder: string, resolvers: readonly string[]): string => {
  const path = join(folder, 'resolv.conf');
  writeFileSync(path, resolvers.map((one) => `nameserver ${one}\n`).join(''));
  return path;
};

/** The arguments come on standard input. A program that starts this one may close all other files, and `ps` shows no secret. */
const enter = (filter: string): string => `bwrap --args 3 -- "$@" 3<&0 4<${quote(filter)} 0</dev/null 5>&- 6>&- 7>&- 8>&- 9>&-`;

const createConfine = ({ folder, tools, reach }: BubblewrapOptions, { filter, etc }: SandboxFiles): Sandbox['confine'] => {
  const programs = [...systemFolders(), ...tools.flatMap(readOnly), '--ro-bind', etc, '/etc'];
  return (command) => {
    const { words, variables, network } = command;
    const resolvers = network === undefined ? [] : findResolvers();
    const names = network === undefined ? '/etc/resolv.conf' : writeResolvers(folder, resolvers);
    const options = argumentsOf(command, [...programs, '--ro-bind-try', names, '/etc/resolv.conf']);
    const inside = `${closeRoutes(reach, resolvers)}exec ${enter(filter)}`;
    return {
      ...(network === undefined
        ? { script: enter(filter), words }
        : { script: '"$@"', words: [...pastaFor(network), '/bin/sh', '-c', inside, 'sh', ...words] }),
      folder: '/',
      variables: { PATH: systemPath, [markerVariable]: variables[markerVariable] ?? '' },
      input: writeHidden(options),
    };
  };
};

const argumentsOf = ({ tree, directory, home, variables, cache }: Command, programs: readonly string[]): readonly string[] =>
  [
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--disable-userns'],
    ['--uid', String(process.getuid?.()), '--gid', String(process.getgid?.())],
    ['--die-with-parent', '--new-session', '--hostname', 'app', '--seccomp', '4'],
    ['--proc', '/proc', '--dev', '/dev'],
    ...['/tmp', '/dev/shm'].map((folder) => ['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', folder]),
    // After these: programs may be in `/tmp` too.
    programs,
    ['--bind', tree, appFolder, '--bind', home, homeFolder, '--chdir', join(appFolder, directory)],
    cache === undefined ? [] : ['--bind', cache, cacheFolder],
    // Both are file systems in memory without a limit.
    ['--remount-ro', '/', '--remount-ro', '/dev', '--clearenv'],
    ...Object.entries({ ...(cache && cacheVariables(cacheFolder)), ...variables }).map((variable) => ['--setenv', ...variable]),
  ].flat();

const variablesInside = (
  { PATH = systemPath, ...variables }: Command['variables'],
  nodeFolder: string,
): Command['variables'] => ({
  ...variables,
  PATH: `${PATH}:${nodeFolder}`,
  HOME: homeFolder,
  TMPDIR: '/tmp',
});

const readOnly = (path: string): readonly string[] => ['--ro-bind', path, path];

/** On most systems `/bin` and the like are links into `/usr`. */
const systemFolders = (): readonly string[] => [
  ...readOnly('/usr'),
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    if (!existsSync(path)) return [];
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : readOnly(path);
  }),
];

/** Runs a program with the real options. */
const tryOut = (confine: Sandbox['confine'], network: Command['network']): string | undefined => {
  const folder = '/usr/share';
  const { script, words, input, variables } = confine({
    words: ['true'],
    tree: folder,
    directory: '.',
    home: folder,
    variables: {},
    network,
  });
  const [name, ...packages] = network === undefined ? ['bwrap', 'bubblewrap'] : ['pasta', 'passt', 'iproute2', 'util-linux'];
  try {
    const { error, status, stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', ...words], {
      cwd: '/',
      env: variables,
      stdio: [input, 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: 10_000,
    });
    if (status === 0) return undefined;
    const why = (stderr || error?.message || 'it failed').trim().split('\n').at(-1);
    if (status === 127 || (error !== undefined && 'code' in error && error.code === 'ENOENT'))
      return `${name} is missing; install ${packages.join(' and ')}`;
    return `${name} does not work here: ${why}`;
  } finally {
    if (input !== undefined) closeSync(input);
  }
};
