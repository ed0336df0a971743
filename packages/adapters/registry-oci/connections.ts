import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { EphError } from '@eph/contract';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { isPublicAddress } from './public-address.ts';

/** How many requests to one host are under way at once. */
export const concurrency = 16;

const connectTimeoutMs = 10_000;
const resolveTimeoutMs = 3_000;
const maxHeaderBytes = 32 * 1024;

/** Connections that are kept open, in two kinds that are never mixed. */
export interface Connections extends AsyncDisposable {
  /** To public addresses, whatever a name resolves to. */
  readonly toPublic: Dispatcher;
  /** To any address. With `ca`, only certificates that it signed count. */
  toConfigured(ca: string | undefined): Dispatcher;
}

export const createConnections = (): Connections => {
  const toPublic = createAgent(connectToPublic());
  const configured = new Map<string, Agent>();
  return {
    toPublic,
    toConfigured: (ca) => {
      const known = configured.get(ca ?? '');
      if (known !== undefined) return known;
      const agent = createAgent(
        buildConnector({ timeout: connectTimeoutMs, allowH2: false, ...(ca === undefined ? {} : { ca }) }),
      );
      configured.set(ca ?? '', agent);
      return agent;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([toPublic, ...configured.values()].map((agent) => agent.destroy()));
    },
  };
};

const createAgent = (connect: buildConnector.connector): Agent =>
  new Agent({
    connect,
    connections: concurrency,
    allowH2: false,
    maxHeaderSize: maxHeaderBytes,
    // The exchange has a limit for the whole answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

/** The check is a part of connecting: a name that was checked before could resolve to another address by now. */
const connectToPublic = (): buildConnector.connector => {
  const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false, lookup: createPublicLookup(resolveName) });
  return (options, callback) => {
    const address = options.hostname.replace(/^\[(.*)\]$/, '$1');
    // An address is not looked up.
    if (isIP(address) !== 0 && !isPublicAddress(address)) callback(refuse(options.hostname), null);
    else connect(options, callback);
  };
};

export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>;

/** One address that is not public is enough to refuse: whoever answers for the name would choose which one is used. */
export const createPublicLookup = (resolve: ResolveName): LookupFunction => {
  const lookup = async (hostname: string): Promise<LookupAddress[]> => {
    const found = /^(.*\.)?localhost\.?$/i.test(hostname) ? [] : await resolve(hostname);
    if (found.length === 0 || !found.every(({ address }) => isPublicAddress(address))) throw refuse(hostname);
    return [...found];
  };
  return (hostname, options, callback) => {
    lookup(hostname).then(
      (found) => (options.all === true ? callback(null, found) : callback(null, found[0]?.address ?? '', found[0]?.family)),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), []),
    );
  };
};

/**
 * Asks name servers, and not the system as Node does by default: that would take a thread for every name, of which there are four,
 * also for files, and strangers could name hosts whose servers never answer.
 */
const resolveName: ResolveName = async (hostname) => {
  const resolver = new Resolver({ timeout: resolveTimeoutMs, tries: 2 });
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
  const toAddresses = (outcome: PromiseSettledResult<string[]>, family: number): readonly LookupAddress[] =>
    outcome.status === 'fulfilled' ? outcome.value.map((address) => ({ address, family })) : [];
  return [...toAddresses(four, 4), ...toAddresses(six, 6)];
};

/** Without the address, which is nobody's business. */
const refuse = (hostname: string): EphError =>
  new EphError(
    'registry.refused',
    `${hostname} is not at a public address, so ephd does not ask it. If it is a registry of yours, an operator can add it under registries in the file of ephd.`,
  );
