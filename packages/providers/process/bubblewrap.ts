import { spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, lstatSync, openSync, readlinkSync, realpathSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, type Confined, type Sandbox, withoutSandbox } from './sandbox.ts';
import { compileFilter, hasFilter } from './seccomp.ts';
import { markerVariable } from './service-environment.ts';

export interface BubblewrapOptions {
  /** Folders of programs that services may use besides those of the system. */
  readonly tools: readonly string[];
}

const systemPath = '/usr/local/bin:/usr/bin:/bin';

/** Where a service finds its checkout and its HOME, whatever they are called outside. */
const [appFolder, homeFolder] = ['/app', '/home/app'];

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
  'resolv.conf',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'timezone',
];

/** Descriptors of the child: 3 is the gate of `launch`. */
const [argumentFile, filterFile] = [4, 5];

/** Where services cannot be confined, they run without a sandbox, which says why. */
export const findSandbox = (options: BubblewrapOptions): Sandbox => {
  const { arch, platform } = process;
  if (platform !== 'linux') return withoutSandbox(`${platform} has no sandbox; use Linux`);
  if (process.getuid?.() === 0) return withoutSandbox('ephd runs as root; run it as an ordinary user');
  if (!hasFilter(arch)) return withoutSandbox(`there is no filter of system calls for ${arch}`);
  const sandbox = createBubblewrap(options, compileFilter(arch));
  const fault = tryOut(sandbox);
  return fault === undefined ? sandbox : withoutSandbox(fault);
};

const createBubblewrap = ({ tools }: BubblewrapOptions, filter: Buffer): Sandbox => {
  const nodeFolder = dirname(realpathSync(process.execPath));
  const programs = [...systemFolders(), ...[nodeFolder, ...tools].flatMap(readOnly)];
  const pathOf = ({ PATH = systemPath }: Command['variables']): string => [PATH, nodeFolder].join(':');
  return {
    isolation: { state: 'sandboxed' },
    confine: (command) => {
      const files = [
        writeHidden(Buffer.from(`${argumentsOf(command, programs, pathOf(command.variables)).join('\0')}\0`)),
        writeHidden(filter),
      ];
      const words = ['bwrap', '--args', String(argumentFile), '--', ...command.words];
      const marker = command.variables[markerVariable] ?? '';
      return { words, folder: '/', variables: { PATH: systemPath, [markerVariable]: marker }, files } satisfies Confined;
    },
  };
};

const argumentsOf = (
  { tree, directory, home, variables }: Command,
  programs: readonly string[],
  path: string,
): readonly string[] =>
  [
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--disable-userns'],
    ['--die-with-parent', '--new-session', '--hostname', 'app', '--seccomp', String(filterFile)],
    programs,
    ...publicFiles.map((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ['--proc', '/proc', '--dev', '/dev'],
    ...['/tmp', '/dev/shm'].map((folder) => ['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', folder]),
    ['--bind', tree, appFolder, '--bind', home, homeFolder, '--chdir', join(appFolder, directory)],
    // Both are file systems in memory without a limit.
    ['--remount-ro', '/', '--remount-ro', '/dev', '--clearenv'],
    ...Object.entries({ ...variables, PATH: path, HOME: homeFolder, TMPDIR: '/tmp' }).map((variable) => [
      '--setenv',
      ...variable,
    ]),
  ].flat();

const readOnly = (path: string): readonly string[] => ['--ro-bind', path, path];

/** On most systems `/bin` and the like are links into `/usr`. */
const systemFolders = (): readonly string[] => [
  ...readOnly('/usr'),
  ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    if (!existsSync(path)) return [];
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : readOnly(path);
  }),
];

/** O_TMPFILE: a file without a name, which only those can read who get its descriptor. Written at a position, so it is read from its start. */
const withoutName = 0o20_000_000 | constants.O_DIRECTORY;

const writeHidden = (content: Buffer): number => {
  const file = openSync('/dev/shm', constants.O_RDWR | withoutName, 0o600);
  try {
    writeSync(file, content, 0, content.length, 0);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
};

/** Runs a program with the real options. */
const tryOut = (sandbox: Sandbox): string | undefined => {
  const { words, files, variables } = sandbox.confine({
    words: ['true'],
    tree: '/usr/share',
    directory: '.',
    home: '/usr/share',
    variables: {},
  });
  try {
    const [program = '', ...rest] = words;
    const { error, status, stderr } = spawnSync(program, rest, {
      cwd: '/',
      env: variables,
      stdio: ['ignore', 'ignore', 'pipe', 'ignore', ...files],
      encoding: 'utf8',
      timeout: 10_000,
    });
    if (error !== undefined && 'code' in error && error.code === 'ENOENT')
      return 'bwrap is missing; install the package bubblewrap';
    if (status === 0) return undefined;
    return `bwrap does not work here: ${(stderr || error?.message || 'it failed').trim().split('\n')[0]}`;
  } finally {
    for (const file of files) closeSync(file);
  }
};
