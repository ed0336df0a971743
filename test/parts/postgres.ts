import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Finding, Part, RunningPart } from './part.ts';
import { createPartFolder, type PartProcess, runPartCommand, startOnFreePort, startPartProcess } from './part-process.ts';

const search: Search = { program: 'postgres', places: ['/usr/lib/postgresql/*/bin'] };
const needed = ['initdb', 'createdb', 'dropdb', 'psql'];
const user = 'eph';

export interface RunningPostgres extends RunningPart {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** Ends whoever uses it. */
  dropDatabase(url: string): Promise<void>;
  /** An empty one in the place of one that was dropped. */
  restoreDatabase(url: string): Promise<void>;
  /** Removes every table of a database, whoever uses it. */
  emptyDatabase(url: string): Promise<void>;
  /** Stops the server and keeps its data and port for `resume`. */
  halt(): Promise<void>;
  resume(): Promise<void>;
}

export const postgres: Part<void, RunningPostgres> = {
  name: 'postgres',
  purpose: 'PostgreSQL server, for the event log and the lease',
  find,
  get: (progress, signal) => getDebianPackage('postgres', 'postgresql', progress, signal),
  start: async () => {
    const programs = programFolder();
    if (programs === undefined) throw new Error(`PostgreSQL is missing: ${describeSearch(search, process.env)}`);
    const folder = createPartFolder('postgres');
    try {
      return await startIn(folder, programs);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

function find(): Finding {
  const programs = programFolder();
  if (programs === undefined) return { found: false, reason: describeSearch(search, process.env) };
  const missing = needed.filter((program) => !existsSync(join(programs, program)));
  if (missing.length > 0) return { found: false, reason: `${programs} has postgres, but not ${missing.join(' and ')}` };
  const where = join(programs, search.program);
  return { found: true, where, version: readVersion(where, '--version') };
}

/** The program on the PATH is often a link; the other programs are next to its target. */
const programFolder = (): string | undefined => {
  const program = findProgram(search, process.env);
  return program === undefined ? undefined : dirname(realpathSync(program));
};

const startIn = async (folder: string, programs: string): Promise<RunningPostgres> => {
  const data = join(folder, 'data');
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, `${password}\n`);
  // Readable for the user that the server runs as; the parent folder keeps all others out.
  await chmod(passwordFile, 0o644);
  const login = ['--username', user, '--auth', 'scram-sha-256', '--pwfile', passwordFile];
  const speed = ['--no-sync', '--no-instructions', '--locale', 'C', '--encoding', 'UTF8'];
  await runPartCommand({ command: join(programs, 'initdb'), args: ['--pgdata', data, ...login, ...speed], folder });
  await rm(passwordFile);

  const startServer = (port: number): Promise<PartProcess> =>
    startPartProcess({
      command: join(programs, 'postgres'),
      args: ['-D', data, ...settings(port)],
      folder,
      ready: /database system is ready to accept connections/,
      // Fast shutdown: does not wait for sessions.
      stopSignal: 'SIGINT',
    });
  const first = await startOnFreePort(async (port) => ({ port, server: await startServer(port) }));
  const { port } = first;
  let server: PartProcess | undefined = first.server;
  let databases = 0;
  const halt = async (): Promise<void> => {
    await server?.stop();
    server = undefined;
  };
  const onServer = ['--host', '127.0.0.1', '--port', String(port), '--username', user];
  const runTool = async (tool: string, ...args: readonly string[]): Promise<void> => {
    const env = { PGPASSWORD: password };
    await runPartCommand({ command: join(programs, tool), args: [...onServer, ...args], folder, env });
  };
  return {
    folder,
    port,
    createDatabase: async () => {
      databases += 1;
      const name = `eph_${databases}`;
      await runTool('createdb', name);
      return `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
    },
    dropDatabase: (url) => runTool('dropdb', '--force', nameIn(url)),
    restoreDatabase: (url) => runTool('createdb', nameIn(url)),
    emptyDatabase: async (url) => {
      const args = ['--quiet', '--command', 'drop schema public cascade; create schema public', url];
      await runPartCommand({ command: join(programs, 'psql'), args, folder });
    },
    halt,
    resume: async () => {
      server ??= await startServer(port);
    },
    stop: async () => {
      await halt();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const nameIn = (url: string): string => new URL(url).pathname.slice(1);

/** Durability is not needed in tests. */
const settings = (port: number): string[] =>
  Object.entries({
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '16MB',
    max_connections: 60,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
