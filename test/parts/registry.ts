import { copyFileSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Part, RunningPart } from './part.ts';
import { createPartFolder, type PartProcess, startOnFreePort, startPartProcess } from './part-process.ts';

const search: Search = { program: 'docker-registry', places: ['/usr/bin', '/usr/local/bin'] };

export interface RegistryOptions {
  /** Who may read and write. Without it, everybody. */
  readonly login?: RegistryLogin;
  /** PEM files. Without them, it speaks plain HTTP. */
  readonly tls?: { readonly certificate: string; readonly key: string };
}

export type RegistryLogin =
  | { readonly type: 'password' }
  | {
      readonly type: 'token';
      /** Where clients get tokens. */
      readonly realm: string;
      readonly service: string;
      readonly issuer: string;
      /** The PEM file with the certificate of the issuer. */
      readonly certificate: string;
    };

/** Of the login by password. The registry accepts only bcrypt, which Node does not have. */
export const registryUser = { name: 'eph', password: 'a-registry-password' };
const passwordFile = `${registryUser.name}:$2b$05$abcdefghijklmnopqrstuuOsXG.OUq8x0f5GnY8XOQd8UGDQQcyDW\n`;

export interface RunningRegistry extends RunningPart {
  /** With which names of images begin. */
  readonly host: string;
  readonly url: string;
  /** Where it stores images, in the layout of the `filesystem` driver. */
  readonly storage: string;
  /** Stops the server and keeps its images and port for `resume`. */
  halt(): Promise<void>;
  resume(): Promise<void>;
}

export const registry: Part<RegistryOptions, RunningRegistry> = {
  name: 'registry',
  purpose: 'container registry, what images are looked for in',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('registry', 'docker-registry', progress, signal),
  start: async (options) => {
    const command = findProgram(search, process.env);
    if (command === undefined) throw new Error(`docker-registry is missing: ${describeSearch(search, process.env)}`);
    const folder = createPartFolder('registry');
    try {
      return await startIn(folder, command, options);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

const startIn = async (folder: string, command: string, options: RegistryOptions): Promise<RunningRegistry> => {
  const file = join(folder, 'config.json');
  const settings = await prepareSettings(folder, options);
  const startServer = async (port: number): Promise<PartProcess> => {
    const http = { ...settings.http, addr: `127.0.0.1:${port}` };
    // JSON is YAML, which is what it reads.
    await writeFile(file, JSON.stringify({ ...settings, http }));
    return await startPartProcess({ command, args: ['serve', file], folder, ready: /listening on /, stopSignal: 'SIGTERM' });
  };
  const first = await startOnFreePort(async (port) => ({ port, server: await startServer(port) }));
  const { port } = first;
  let server: PartProcess | undefined = first.server;
  const halt = async (): Promise<void> => {
    await server?.stop();
    server = undefined;
  };
  return {
    folder,
    port,
    host: `127.0.0.1:${port}`,
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    storage: join(folder, 'images'),
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

const prepareSettings = async (folder: string, { login, tls }: RegistryOptions) => {
  /** The server runs as another user, who can read only its own folder. */
  const adopt = async (source: string, name: string): Promise<string> => {
    const target = join(folder, name);
    copyFileSync(source, target);
    await chmod(target, 0o644);
    return target;
  };
  const auth = async () => {
    if (login === undefined) return {};
    if (login.type === 'token') {
      const { realm, service, issuer, certificate } = login;
      return { auth: { token: { realm, service, issuer, rootcertbundle: await adopt(certificate, 'issuer.pem') } } };
    }
    const path = join(folder, 'passwords');
    await writeFile(path, passwordFile, { mode: 0o644 });
    return { auth: { htpasswd: { realm: 'registry', path } } };
  };
  return {
    version: 0.1,
    log: { level: 'info', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: join(folder, 'images') },
      delete: { enabled: true },
      maintenance: { uploadpurging: { enabled: false } },
    },
    http: {
      secret: 'unused by a single server',
      ...(tls && { tls: { certificate: await adopt(tls.certificate, 'tls.pem'), key: await adopt(tls.key, 'tls.key') } }),
    },
    ...(await auth()),
  };
};
