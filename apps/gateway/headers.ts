/** They apply to one connection and are not forwarded (RFC 9110, 7.6.1). */
const hopByHop = new Set(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

interface RequestFacts {
  /** Passed on unchanged, because applications build links and check origins with it. */
  readonly host: string;
  readonly clientAddress: string;
  readonly connection: string | undefined;
}

/**
 * What the upstream receives, as a flat list of names and values, which is cheapest. `undefined` when the request names two hosts:
 * programs differ in which one they use. Except for the list of addresses, clients cannot set forwarding headers.
 */
export const computeRequestHeaders = (raw: readonly string[], facts: RequestFacts): string[] | undefined => {
  const named = namedIn(facts.connection);
  const headers = ['host', facts.host];
  let hosts = 0;
  let addresses = '';
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    const key = name.toLowerCase();
    if (key === 'host') hosts += 1;
    else if (key === 'x-forwarded-for') addresses += `${value}, `;
    else if (!isDropped(key) && !named?.has(key)) headers.push(name, value);
  }
  if (hosts > 1) return undefined;
  addresses += facts.clientAddress.startsWith('::ffff:') ? facts.clientAddress.slice(7) : facts.clientAddress;
  headers.push('x-forwarded-for', addresses, 'x-forwarded-host', facts.host, 'x-forwarded-proto', 'http');
  return headers;
};

/** The gateway answers `Expect` itself: forwarded, it would delay the body twice. */
const isDropped = (key: string): boolean =>
  hopByHop.has(key) || key === 'expect' || key === 'forwarded' || key.startsWith('x-forwarded-');

/** What the client receives. Node's server adds the framing. */
export const computeResponseHeaders = (received: ReceivedHeaders, cookieHost: string): string[] => {
  const named = namedIn(received['connection']);
  const headers: string[] = [];
  for (const key in received) {
    if (hopByHop.has(key) || key === 'x-robots-tag' || named?.has(key)) continue;
    const value = key === 'set-cookie' ? narrowCookies(received[key], cookieHost) : received[key];
    if (typeof value === 'string') headers.push(key, value);
    else if (value !== undefined) for (const one of value) headers.push(key, one);
  }
  headers.push('x-robots-tag', 'noindex');
  return headers;
};

type HeaderValue = string | readonly string[] | undefined;

/** Cookies for a wider domain than the host would reach other environments. Everything else about them stays as it is. */
const narrowCookies = (cookies: HeaderValue, host: string): HeaderValue => {
  const narrow = (cookie: string): string => (/;\s*domain/i.test(cookie) ? dropWiderDomain(cookie, host) : cookie);
  return typeof cookies === 'string' ? narrow(cookies) : cookies?.map(narrow);
};

const dropWiderDomain = (cookie: string, host: string): string => {
  const name = host.toLowerCase().replace(/\.?(:\d+)?$/, '');
  return cookie
    .split(';')
    .filter((attribute, index) => {
      const domain = index === 0 ? undefined : /^\s*domain\s*=\s*\.*(.*?)\.*\s*$/i.exec(attribute)?.[1]?.toLowerCase();
      // Browsers read some spellings differently, such as `%6cocalhost`.
      return domain === undefined || domain === '' || (/^[a-z0-9.-]+$/.test(domain) && !name.endsWith(`.${domain}`));
    })
    .join(';');
};

/** Trailers come after the body and must not contain framing headers. */
export const computeTrailers = (received: ReceivedHeaders): [string, string][] => {
  const trailers: [string, string][] = [];
  for (const [key, value] of Object.entries(received)) {
    if (hopByHop.has(key) || key === 'content-length' || value === undefined) continue;
    for (const one of typeof value === 'string' ? [value] : value) trailers.push([key, one]);
  }
  return trailers;
};

/** With names in lower case, as undici provides them. */
export interface ReceivedHeaders {
  readonly [name: string]: HeaderValue;
}

const namedIn = (connection: string | readonly string[] | undefined): ReadonlySet<string> | undefined => {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  return new Set(
    String(connection)
      .split(',')
      .map((token) => token.trim().toLowerCase()),
  );
};
