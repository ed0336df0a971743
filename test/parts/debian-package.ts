import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { partsCache } from './find-program.ts';
import { getCommand } from './part.ts';
import { putInPlace } from './put-in-place.ts';
import { runWithProgress } from './run-with-progress.ts';

const aptGet = '/usr/bin/apt-get';
const policyPath = '/usr/sbin/policy-rc.d';
const policy =
  '#!/bin/sh\n# Put here by `npm run parts` while it installs packages: starts no services. Safe to delete.\nexit 101\n';

/** Installs a Debian package. Services that come with it are not started: parts run on their own ports and folders. */
export const getDebianPackage = async (
  part: string,
  packageName: string,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  refuseObstacle(part, packageName);
  await withoutServices(() =>
    runApt(['install', '--yes', '--no-install-recommends', packageName], { folder: tmpdir(), progress, signal }),
  );
};

/** Where the files of a package are that is not installed: some would take the place of others that the machine needs. */
export const unpackedPackage = (packageName: string): string => join(partsCache(process.env), 'debian', packageName);

/** Downloads a Debian package and unpacks it into the parts cache. Its scripts do not run. */
export const unpackDebianPackage = async (
  part: string,
  packageName: string,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  refuseObstacle(part, packageName);
  const target = unpackedPackage(packageName);
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(dirname(target), 'unpacking-'));
  try {
    await runApt(['download', packageName], { folder, progress, signal });
    const [archive = ''] = await readdir(folder);
    const built = join(folder, 'files');
    const args = ['--extract', join(folder, archive), built];
    if ((await runWithProgress('/usr/bin/dpkg-deb', args, { env: process.env }, progress, signal)) !== 0)
      throw new Error(`${archive} could not be unpacked; the reason is above`);
    await putInPlace(built, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

interface AptRun {
  readonly folder: string;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

const runApt = async (args: readonly string[], { folder, progress, signal }: AptRun): Promise<void> => {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const always = ['--quiet', '-o', 'Dpkg::Use-Pty=0', '-o', 'DPkg::Lock::Timeout=300'];
  const apt = (...words: readonly string[]): Promise<number> =>
    runWithProgress(aptGet, [...always, ...words], { folder, env }, progress, signal);
  if ((await apt(...args)) === 0) return;
  progress('trying again with fresh package lists');
  if ((await apt('update')) !== 0 || (await apt(...args)) !== 0)
    throw new Error(`apt-get could not ${args.join(' ')}; its last lines are above`);
};

const refuseObstacle = (part: string, packageName: string): void => {
  const obstacle = explainObstacle(part, packageName, { hasApt: existsSync(aptGet), isRoot: process.getuid?.() === 0 });
  if (obstacle !== undefined) throw new Error(obstacle);
};

/** Why packages cannot be installed here, and what to do; `undefined` when they can. */
export const explainObstacle = (
  part: string,
  packageName: string,
  { hasApt, isRoot }: { readonly hasApt: boolean; readonly isRoot: boolean },
): string | undefined => {
  if (!hasApt)
    return `${part} comes from the Debian package ${packageName}, and there is no apt-get here: install ${part} your own way`;
  if (!isRoot) return `installing the Debian package ${packageName} needs root: sudo ${getCommand(part)}`;
  return undefined;
};

/** Debian packages run this file before they start a daemon; container images often include one. */
const withoutServices = async (work: () => Promise<void>): Promise<void> => {
  const ours = !existsSync(policyPath) || readFileSync(policyPath, 'utf8') === policy;
  if (ours) writeFileSync(policyPath, policy, { mode: 0o755 });
  try {
    await work();
  } finally {
    if (ours) rmSync(policyPath, { force: true });
  }
};
