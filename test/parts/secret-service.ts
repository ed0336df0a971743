import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, type Search } from './find-program.ts';
import type { Program } from './part.ts';
import { createPartFolder, startPartProcess } from './part-process.ts';

const searches = ['secret-tool', 'gnome-keyring-daemon', 'dbus-daemon'].map(
  (program): Search => ({ program, places: ['/usr/bin', '/usr/local/bin'] }),
);

export const secretService: Program = {
  name: 'secret-service',
  purpose: 'keychain of a desktop, where eph stores tokens',
  find: () => {
    const missing = searches.find((search) => findProgram(search, process.env) === undefined);
    if (missing !== undefined) return { found: false, reason: describeSearch(missing, process.env) };
    return { found: true, where: locate('secret-tool'), version: 'without a version of its own' };
  },
  get: async (progress, signal) => {
    for (const name of ['dbus', 'gnome-keyring', 'libsecret-tools'])
      await getDebianPackage('secret-service', name, progress, signal);
  },
};

export interface RunningSecretService extends AsyncDisposable {
  /** For `secret-tool`. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A keyring that is unlocked, on a bus of its own. */
export const startSecretService = async (): Promise<RunningSecretService> => {
  const folder = createPartFolder('secret-service');
  const address = `unix:path=${join(folder, 'bus')}`;
  const variables = { PATH: process.env['PATH'] ?? '', HOME: folder, DBUS_SESSION_BUS_ADDRESS: address };
  // A bus serves only the user that it runs as.
  const common = { folder, env: variables, asOurselves: true, stopSignal: 'SIGTERM' } as const;
  const bus = await startPartProcess({
    ...common,
    command: locate('dbus-daemon'),
    args: ['--session', '--nofork', '--print-address', `--address=${address}`],
    ready: /^unix:path=/,
  });
  const keyring = await startPartProcess({
    ...common,
    command: '/bin/sh',
    args: ['-c', 'exec "$0" --foreground --unlock --components=secrets <<END\npassword\nEND', locate('gnome-keyring-daemon')],
    ready: /^/,
    answers: async () => spawnSync(locate('secret-tool'), ['lookup', 'eph', 'none'], { env: variables }).stderr.length === 0,
  });
  return {
    variables,
    [Symbol.asyncDispose]: async () => {
      await keyring.stop();
      await bus.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const locate = (program: string): string => {
  const search = searches.find((one) => one.program === program);
  return (search && findProgram(search, process.env)) ?? program;
};
