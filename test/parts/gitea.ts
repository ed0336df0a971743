import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { basicAuthorization } from './gitea-api.ts';
import { createFirstToken, GiteaServer } from './gitea-server.ts';
import { findGoProgram, type GoProgram, getGoProgram } from './go-module.ts';
import type { Part } from './part.ts';
import { createPartFolder, type PartProcess, runPartCommand, startOnFreePort, startPartProcess } from './part-process.ts';

const program: GoProgram = {
  program: 'gitea',
  module: 'code.gitea.io/gitea',
  version: '1.26.0',
  sum: 'h1:fJP9dqLbzKrKWUVnCVTfVersZdVDuyJQLEDzCAOmKKA=',
  package: 'code.gitea.io/gitea',
  tags: ['sqlite', 'sqlite_unlock_notify'],
  variables: { 'main.Version': '1.26.0', 'main.Tags': 'sqlite sqlite_unlock_notify' },
  needsC: true,
  data: ['options', 'public', 'templates'],
  versionFlag: '--version',
};
const adminName = 'eph-admin';

export interface GiteaOptions {
  /** With Gitea's default queues, in which webhooks wait. */
  readonly isUntuned: boolean;
}

export const gitea: Part<GiteaOptions | void, GiteaServer> = {
  name: 'gitea',
  purpose: 'Gitea server, a forge with pull requests and webhooks',
  find: () => findGoProgram(program, process.env),
  get: (progress, signal) => getGoProgram('gitea', program, progress, signal),
  start: async (options) => {
    const finding = findGoProgram(program, process.env);
    if (!finding.found) throw new Error(`Gitea is missing: ${finding.reason}`);
    const folder = createPartFolder('gitea');
    try {
      return await startIn(folder, finding.where, options?.isUntuned === true ? '' : promptQueues);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

const startIn = async (folder: string, command: string, queues: string): Promise<GiteaServer> => {
  const configurationFile = join(folder, 'app.ini');
  const password = randomBytes(16).toString('hex');
  // Gitea starts itself again for each hook of each push; most of that start would be the collection of garbage.
  const common = { command, folder, asOurselves: true, env: { GOGC: '400' } };
  const run = (...args: string[]): Promise<void> => runPartCommand({ ...common, args: [...args, '--config', configurationFile] });
  await writeFile(configurationFile, configuration(folder, command, 0, queues));
  await run('migrate');
  const account = ['--username', adminName, '--password', password, '--email', `${adminName}@example.com`];
  await run('admin', 'user', 'create', '--admin', '--must-change-password=false', ...account);

  const startServer = (port: number): Promise<PartProcess> =>
    startPartProcess({
      ...common,
      args: ['web', '--config', configurationFile],
      ready: /Starting new Web server/,
      answers: () => knows(port, basicAuthorization(adminName, password)),
      stopSignal: 'SIGTERM',
    });
  const { port, server } = await startOnFreePort(async (port) => {
    await writeFile(configurationFile, configuration(folder, command, port, queues));
    return { port, server: await startServer(port) };
  });
  try {
    const admin = await createFirstToken(`http://127.0.0.1:${port}`, adminName, password);
    return new GiteaServer({ folder, port, admin, process: server, startAgain: () => startServer(port) });
  } catch (error) {
    await server.stop();
    throw error;
  }
};

/** Another server on the port would not accept the password. */
const knows = async (port: number, authorization: string): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/api/v1/user`, { headers: { authorization } })).ok;
  } catch {
    return false; // It does not listen yet.
  }
};

/**
 * Gitea polls a queue on disk every two seconds at worst before it sends a webhook; a queue in memory delivers immediately, and a batch
 * of one does not wait for more.
 */
const promptQueues = `[queue]
TYPE = channel
[queue.webhook_sender]
BATCH_LENGTH = 1`;

/** Limits are Gitea's defaults; features that no test uses are off. */
const configuration = (folder: string, command: string, port: number, queues: string): string => `
${process.getuid?.() === 0 ? 'I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true' : ''}
WORK_PATH = ${folder}
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
${staticRoot(command)}
OFFLINE_MODE = true
DISABLE_SSH = true
GRACEFUL_HAMMER_TIME = 1s
[database]
DB_TYPE = sqlite3
PATH = ${folder}/gitea.db
[security]
INSTALL_LOCK = true
[webhook]
ALLOWED_HOST_LIST = loopback
[repository]
DEFAULT_BRANCH = main
[indexer]
ISSUE_INDEXER_TYPE = db
${queues}
[picture]
DISABLE_GRAVATAR = true
[actions]
ENABLED = false
[packages]
ENABLED = false
[log]
MODE = console
LEVEL = Info
logger.router.MODE =
`;

/** A release binary embeds its templates; one built from the module reads them from its folder. */
const staticRoot = (command: string): string =>
  existsSync(join(dirname(command), 'templates')) ? `STATIC_ROOT_PATH = ${dirname(command)}` : '';
