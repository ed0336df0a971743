import { BlockList, isIP } from 'node:net';

export const createNetworks = (ranges: readonly string[]): BlockList => {
  const networks = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) networks.addAddress(address, familyOf(address));
    else networks.addSubnet(address, Number(bits), familyOf(address));
  }
  return networks;
};

/**
 * The client that a request comes from. Anybody can send `X-Forwarded-For`, so only what trusted proxies have appended counts:
 * from the right, the first address that is not a proxy of ours.
 */
export const findClientAddress = (peer: string, forwardedFor: string, proxies: BlockList): string => {
  let client = plain(peer);
  for (const entry of forwardedFor.split(',').toReversed()) {
    if (isIP(client) === 0 || !proxies.check(client, familyOf(client))) break;
    const named = plain(entry.trim());
    if (isIP(named) === 0) break;
    client = named;
  }
  return client;
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Without a port, which some proxies add, and with an IPv4 address as such on a socket for both families. */
const plain = (text: string): string => {
  const address = isIP(text) === 0 ? (/^\[?([^\]]+?)\]?(?::\d+)?$/.exec(text)?.[1] ?? '') : text;
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
};
