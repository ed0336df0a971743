import { isIPv6 } from 'node:net';
import type { ApiSettings } from '../config.ts';

/** Where this ephd is reached, and which pages may use it. */
export interface OriginRules {
  readonly scheme: 'http' | 'https';
  /** Names besides those of loopback that `Host` may have. */
  readonly hosts: readonly string[];
  /** The origin that people use, where that is not `scheme` and `Host`: behind a proxy. */
  readonly url: string | undefined;
  /** Other origins whose pages may use the API. */
  readonly allowed: readonly string[];
}

/** The headers that say where a request was made. */
export interface Sender {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
}

export type OriginCheck =
  /** `origin`: one of `allowed`, whose page may read the answer. */
  { readonly ok: true; readonly origin: string | undefined } | { readonly ok: false; readonly because: string };

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

export const createOriginRules = ({
  host,
  tls,
  url,
  allowedOrigins,
}: Omit<ApiSettings, 'port' | 'trustedProxies'>): OriginRules => ({
  scheme: tls === undefined ? 'http' : 'https',
  hosts: [hostOf(listenedUrl({ host, tls }, 0)), ...(url === undefined ? [] : [hostOf(url)])],
  url,
  allowed: allowedOrigins,
});

/** The address that ephd listens on, whatever people use. */
export const listenedUrl = ({ host, tls }: Pick<ApiSettings, 'host' | 'tls'>, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${isIPv6(host) ? `[${host}]` : host}:${port}`;

const hostOf = (url: string): string => new URL(url).hostname;

/**
 * `Host` stops pages that reach ephd through a name of their own (DNS rebinding). Browsers send `Sec-Fetch-Site` with every method,
 * `Origin` not with GET. `same-site` is not enough: environments on a sibling domain are same-site. Programs send neither.
 */
export const checkOrigin = ({ host = '', origin, site = 'none' }: Sender, rules: OriginRules): OriginCheck => {
  const name = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/.exec(host.toLowerCase())?.[1] ?? '';
  const hosts = [...new Set([...loopbackNames, ...rules.hosts])];
  if (!hosts.includes(name)) return { ok: false, because: `ephd answers only requests to ${hosts.join(', ')}` };
  if (origin !== undefined && rules.allowed.includes(origin)) return { ok: true, origin };
  const isOwn = origin === undefined || origin === `${rules.scheme}://${host.toLowerCase()}` || origin === rules.url;
  if (!isOwn || !['none', 'same-origin'].includes(site))
    return { ok: false, because: 'ephd does not answer requests from other sites' };
  return { ok: true, origin: undefined };
};
