import { BlockList, isIP } from 'node:net';

/** What is not the public internet, as far as IANA lists it, and addresses that clouds serve credentials from. */
const reserved4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  // Azure answers virtual machines here, although the address is a public one.
  '168.63.129.16/32',
];

/** Of IPv6, only global unicast is public; these are exceptions in it. Some of them lead to an IPv4 address. */
const global6 = '2000::/3';
const reserved6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const createNetworks = (ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList => {
  const networks = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    networks.addSubnet(address, Number(bits), family);
  }
  return networks;
};

const refused4 = createNetworks(reserved4, 'ipv4');
const refused6 = createNetworks(reserved6, 'ipv6');
const allowed6 = createNetworks([global6], 'ipv6');

/** Unless told otherwise, ephd asks only public addresses: strangers name repositories. */
export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 4) return !refused4.check(address, 'ipv4');
  if (isIP(address) !== 6 || address.includes('%')) return false;
  return allowed6.check(address, 'ipv6') && !refused6.check(address, 'ipv6');
};
