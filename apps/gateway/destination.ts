import type { IncomingMessage } from 'node:http';
import { dnsLabel } from '@eph/contract';
import type { ClosedRoute, OpenRoute, Routes } from './routes.ts';

/** Where a request goes, decided from its head alone. */
export type Destination =
  | OpenDestination
  | { readonly kind: 'closed'; readonly route: ClosedRoute }
  | { readonly kind: 'moved'; readonly location: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'malformed' };

export interface OpenDestination {
  readonly kind: 'open';
  readonly route: OpenRoute;
  readonly host: string;
  /** Cookies for wider domains than this host lose their domain. */
  readonly cookieHost: string;
  readonly path: string;
}

export type FindDestination = (request: IncomingMessage) => Destination;

/** Lower-case, as Node spells header names. */
const environmentHeader = 'x-eph-environment';

const unknown: Destination = { kind: 'unknown' };
const malformed: Destination = { kind: 'malformed' };

export const createFindDestination = (routes: Routes, domain: string): FindDestination => {
  const parseHost = createParseHost(domain);
  const isGatewayHost = createIsGatewayHost(domain);

  /** With the header, the host has another purpose, so an alias is followed instead of redirected. */
  const findNamed = (name: string, host: string, path: string): Destination => {
    const label = name.toLowerCase();
    const route = dnsLabel.test(label) ? routes.find(label) : undefined;
    const target = route?.state === 'alias' ? routes.find(route.target) : route;
    if (target === undefined || target.state === 'alias') return unknown;
    if (target.state === 'closed') return { kind: 'closed', route: target };
    // Its host is the domain of all environments, so a cookie for the host itself would reach them too.
    return { kind: 'open', route: target, host, cookieHost: `*.${host}`, path };
  };

  return (request) => {
    const target = parseTarget(request);
    if (target === undefined) return malformed;
    const { host, path } = target;
    const named = request.headers[environmentHeader];
    if (typeof named === 'string' && isGatewayHost(host) && isSameOrigin(request, host)) return findNamed(named, host, path);

    const address = parseHost(host);
    const route = address && routes.find(address.label);
    if (!address || !route) return unknown;
    switch (route.state) {
      case 'open':
        return { kind: 'open', route, host, cookieHost: host, path };
      case 'closed':
        return { kind: 'closed', route };
      case 'alias':
        return { kind: 'moved', location: `http://${route.target}.${domain}${address.port}${path}` };
    }
  };
};

interface Address {
  readonly label: string;
  /** With the colon, or empty. */
  readonly port: string;
}

/** Exactly one label under the domain; a trailing dot is allowed. */
export const createParseHost = (domain: string): ((host: string) => Address | undefined) => {
  const pattern = new RegExp(`^([a-z0-9-]{1,63})\\.${RegExp.escape(domain)}\\.?(:[0-9]{1,5})?$`, 'i');
  return (host) => {
    const match = pattern.exec(host);
    if (match === null) return undefined;
    const label = (match[1] ?? '').toLowerCase();
    return dnsLabel.test(label) ? { label, port: match[2] ?? '' } : undefined;
  };
};

/** Hosts that no environment has: there, a page of an environment is another origin. */
const createIsGatewayHost = (domain: string): ((host: string) => boolean) => {
  const pattern = new RegExp(`^(${RegExp.escape(domain)}\\.?|localhost|127(\\.\\d{1,3}){3}|\\[::1\\])(:\\d{1,5})?$`, 'i');
  return (host) => pattern.test(host);
};

/** Environments are same-site to each other and to the gateway, so that is not enough. Programs send neither header. */
const isSameOrigin = ({ headers }: IncomingMessage, host: string): boolean => {
  const { origin, 'sec-fetch-site': site } = headers;
  const own = [undefined, `http://${host}`, `https://${host}`];
  return own.includes(origin) && (site === undefined || site === 'same-origin');
};

const absoluteForm = /^http:\/\/([^/?#]*)(.*)$/i;

/** In absolute form the authority in the target counts, and `Host` does not (RFC 9112, 3.2.2). */
const parseTarget = (request: IncomingMessage): { readonly host: string; readonly path: string } | undefined => {
  const url = request.url ?? '';
  if (url.startsWith('/')) return { host: request.headers.host ?? '', path: url };
  const match = absoluteForm.exec(url);
  if (match === null) return undefined;
  const [, host = '', rest = ''] = match;
  return { host, path: rest.startsWith('/') ? rest : `/${rest}` };
};
