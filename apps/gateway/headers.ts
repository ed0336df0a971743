/** Headers between the client, the gateway and the upstream. Both directions work on flat name, value lists: nothing is cheaper. */

/** They speak of one connection, and the other side of the gateway is another connection (RFC 9110, 7.6.1). */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

interface RequestFacts {
  /** The host the client asked for; it is passed on unchanged, since applications build links and check origins with it. */
  readonly host: string;
  readonly clientAddress: string;
  readonly connection: string | undefined;
}

/**
 * What the upstream gets to see, or `undefined` when the request names two hosts: which one counts would depend on who reads it.
 * Every forwarding header but the list of addresses is the gateway's own word, so that a visitor cannot forge it.
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

/** `Expect` is answered here: an upstream client that waits for 100 would hold the body back twice. */
const isDropped = (key: string): boolean =>
  hopByHop.has(key) || key === 'expect' || key === 'forwarded' || key.startsWith('x-forwarded-');

/** What the client gets to see. The framing is written anew by the server. */
export const computeResponseHeaders = (received: ReceivedHeaders): string[] => {
  const named = namedIn(received['connection']);
  const headers: string[] = [];
  for (const key in received) {
    if (hopByHop.has(key) || key === 'x-robots-tag' || named?.has(key)) continue;
    const value = received[key];
    if (typeof value === 'string') headers.push(key, value);
    else if (value !== undefined) for (const one of value) headers.push(key, one);
  }
  headers.push('x-robots-tag', 'noindex');
  return headers;
};

/** Trailers come after the body, where nothing about the framing can be said any more. */
export const computeTrailers = (received: ReceivedHeaders): [string, string][] => {
  const trailers: [string, string][] = [];
  for (const [key, value] of Object.entries(received)) {
    if (hopByHop.has(key) || key === 'content-length' || value === undefined) continue;
    for (const one of typeof value === 'string' ? [value] : value) trailers.push([key, one]);
  }
  return trailers;
};

/** Names in lower case, as undici hands them over. */
export interface ReceivedHeaders {
  readonly [name: string]: string | readonly string[] | undefined;
}

const namedIn = (connection: string | readonly string[] | undefined): ReadonlySet<string> | undefined => {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  return new Set(
    String(connection)
      .split(',')
      .map((token) => token.trim().toLowerCase()),
  );
};
