import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { getCommand } from './part.ts';
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
  const obstacle = explainObstacle(part, packageName, { hasApt: existsSync(aptGet), isRoot: process.getuid?.() === 0 });
  if (obstacle !== undefined) throw new Error(obstacle);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  const always = ['--quiet', '-o', 'Dpkg::Use-Pty=0', '-o', 'DPkg::Lock::Timeout=300'];
  const apt = (...args: string[]): Promise<number> => runWithProgress(aptGet, [...always, ...args], { env }, progress, signal);
  const install = (): Promise<number> => apt('install', '--yes', '--no-install-recommends', packageName);

  await withoutServices(async () => {
    if ((await install()) === 0) return;
    progress('trying again with fresh package lists');
    if ((await apt('update')) !== 0 || (await install()) !== 0)
      throw new Error(`apt-get could not install ${packageName}; its last lines are above`);
  });
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
