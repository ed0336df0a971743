import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { dirname, join } from 'node:path';
import { EphError, isEphError } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import type { KubeConfig } from '@kubernetes/client-node';
import { Limit, LimitReached } from './pause.ts';

/** Where a cluster is, and how to get in. */
export type ClusterLocation =
  /** A kubeconfig file; without a context, the one that is current in it. */
  | { readonly kubeconfig: string; readonly context?: string | undefined }
  /** The cluster that runs ephd. `folder` is where the files of the service account are. */
  | { readonly inCluster: { readonly host: string; readonly port: string; readonly folder?: string } };

export interface Credentials {
  /** Without a slash at the end. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsOptions;
  /** For web sockets, where there is a proxy. */
  readonly agent: Agent | undefined;
  /** The namespace of the context. */
  readonly namespace: string;
}

export type TlsOptions = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'rejectUnauthorized' | 'servername'>;

/** What opens a cluster. Files and plug-ins are read again from time to time, and after the cluster refused what they said. */
export interface Connection {
  current(signal: AbortSignal): Promise<Credentials>;
  /** After a refusal of these: what they are now. */
  renew(refused: Credentials, signal: AbortSignal): Promise<Credentials>;
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Tokens of service accounts change before they expire; so do files of operators. */
const readAgainMs = 60_000;
/** A plug-in may ask the network, but nobody is there to answer its questions. */
const limitMs = 30_000;

export const createConnection = (cluster: string, location: ClusterLocation, clock: Clock): Connection => {
  let config: Promise<KubeConfig> | undefined;
  let known: { readonly credentials: Credentials; readonly at: number } | undefined;
  let reading: Promise<Credentials> | undefined;

  const read = async (): Promise<Credentials> => {
    config ??= loadConfig(location);
    const loaded = await config.catch((error: unknown) => {
      config = undefined;
      throw toConfigError(cluster, location, error);
    });
    const credentials = await readCredentials(cluster, loaded);
    known = { credentials, at: clock.now() };
    return credentials;
  };

  /** One at a time, also after a limit: a plug-in that hangs is not started again. */
  const readInTime = async (signal: AbortSignal): Promise<Credentials> => {
    reading ??= read().finally(() => (reading = undefined));
    using limit = new Limit(clock, limitMs, signal);
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason), { once: true });
    if (limit.signal.aborted) reject(limit.signal.reason);
    try {
      return await Promise.race([reading, stopped]);
    } catch (error) {
      if (error instanceof LimitReached)
        throw new EphError(
          'cluster.unreachable',
          `The credentials of cluster ${cluster} were not there within ${limitMs / 1_000} s.`,
        );
      throw error;
    }
  };

  return {
    async current(signal) {
      const now = clock.now();
      // Also when the clock was set back.
      if (known !== undefined && Math.abs(now - known.at) < readAgainMs) return known.credentials;
      return await readInTime(signal);
    },

    async renew(refused, signal) {
      if (known?.credentials === refused) {
        known = undefined;
        // What a plug-in once said is remembered in there.
        config = undefined;
      }
      return known?.credentials ?? (await readInTime(signal));
    },
  };
};

/** The library takes 30 MB of memory, which only those with a cluster should spend. */
const loadConfig = async (location: ClusterLocation): Promise<KubeConfig> => {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if ('inCluster' in location) loadInCluster(config, location.inCluster);
  else loadFile(config, location);
  if (config.getCurrentCluster() === null || config.getCurrentUser() === null)
    throw new EphError('config.invalid', 'its context, or the cluster or user of it, is not there');
  return config;
};

const loadFile = (
  config: KubeConfig,
  { kubeconfig, context }: { readonly kubeconfig: string; readonly context?: string | undefined },
): void => {
  config.loadFromFile(kubeconfig);
  if (context !== undefined) config.setCurrentContext(context);
  const exec: unknown = config.getCurrentUser()?.exec;
  const found = config.getCurrentCluster();
  const server = found?.server;
  // As `kubectl proxy` serves it. The library wants this said.
  if (found !== null && isLoopbackHttp(found.server)) Object.assign(found, { skipTLSVerify: true });
  if (typeof exec === 'object' && exec !== null && server !== undefined) announce(exec, server, dirname(kubeconfig));
};

/** Plug-ins learn from this variable which version of the answer is wanted, and that there is nobody to ask. */
const announce = (exec: { env?: unknown; apiVersion?: unknown; command?: unknown }, server: string, folder: string): void => {
  const { apiVersion = 'client.authentication.k8s.io/v1', command } = exec;
  const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false, cluster: { server } } };
  const env: unknown[] = Array.isArray(exec.env) ? exec.env : [];
  exec.env = [...env, { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }];
  // As kubectl does: a path is relative to the file that names it.
  if (typeof command === 'string' && command.includes('/') && !command.startsWith('/')) exec.command = join(folder, command);
};

const loadInCluster = (
  config: KubeConfig,
  { host, port, folder = accountFolder }: { readonly host: string; readonly port: string; readonly folder?: string },
): void => {
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const tokenFile = join(folder, 'token');
  config.loadFromOptions({
    clusters: [{ name: 'cluster', server, caFile: join(folder, 'ca.crt'), skipTLSVerify: false }],
    users: [{ name: 'user', authProvider: { name: 'tokenFile', config: { tokenFile } } }],
    contexts: [
      { name: 'context', cluster: 'cluster', user: 'user', namespace: readFileSync(join(folder, 'namespace'), 'utf8').trim() },
    ],
    currentContext: 'context',
  });
};

const readCredentials = async (cluster: string, config: KubeConfig): Promise<Credentials> => {
  const { server = '', proxyUrl } = config.getCurrentCluster() ?? {};
  if (!URL.canParse(server) || (!server.startsWith('https:') && !isLoopbackHttp(server)))
    throw new EphError('config.invalid', `The server of cluster ${cluster} must be an address that begins with https://.`);
  if (proxyUrl !== undefined && !/^https?:\/\//.test(proxyUrl))
    throw new EphError(
      'config.invalid',
      `The proxy of cluster ${cluster} is of a kind that ephd does not support; use http or https.`,
    );
  const options: RequestOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(options);
  } catch {
    // What a plug-in printed may hold what it should have kept to itself.
    throw new EphError(
      'cluster.unreachable',
      `ephd could not get its credentials for cluster ${cluster}. Run kubectl with the same kubeconfig and context to see why.`,
    );
  }
  const { ca, cert, key, passphrase, rejectUnauthorized, servername, auth, agent } = options;
  const basic = typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  return {
    server: server.replace(/\/+$/, ''),
    proxyUrl,
    headers: { ...basic, ...toHeaders(options.headers) },
    tls: definedOnly({ ca, cert, key, passphrase, rejectUnauthorized, servername }),
    agent: proxyUrl === undefined || typeof agent !== 'object' ? undefined : agent,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? 'default',
  };
};

const isLoopbackHttp = (server: string): boolean => /^http:\/\/(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:|\/|$)/.test(server);

const toHeaders = (headers: RequestOptions['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()]));

const definedOnly = (options: { readonly [Name in keyof TlsOptions]: TlsOptions[Name] | undefined }): TlsOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

/** Without the cause in words: a parser quotes the line that it does not understand. */
const toConfigError = (cluster: string, location: ClusterLocation, error: unknown): EphError => {
  const where = 'kubeconfig' in location ? location.kubeconfig : (location.inCluster.folder ?? accountFolder);
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  if (isMissing) return new EphError('config.missing', `${where}, which says how to reach cluster ${cluster}, is not there.`);
  const why = isEphError(error) ? error.message : 'it cannot be read';
  return new EphError('config.invalid', `${where} does not say how to reach cluster ${cluster}: ${why}.`, { cause: error });
};
