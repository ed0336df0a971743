import { readFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Command } from './sandbox.ts';

/** Of the namespace, which nobody else sees: ranges that are reserved for examples belong to no network. */
const [address, gateway] = ['203.0.113.2', '203.0.113.1'];

/**
 * Everything that is not asked for is closed: pasta would otherwise lead every port of loopback out, and the address of the gateway to
 * the machine itself. IPv4 only: of each family, every address that leads inside would have to be known.
 */
export const pastaFor = ({ port, reaches }: NonNullable<Command['network']>): readonly string[] =>
  [
    // It ends with the process that holds the sandbox, as bubblewrap does by itself.
    ['setpriv', '--pdeathsig', 'KILL', 'pasta', '--foreground', '--quiet', '--ipv4-only', '--config-net', '--no-map-gw'],
    ['--address', address, '--netmask', '29', '--gateway', gateway],
    ['--tcp-ports', port === 0 ? 'none' : `127.0.0.1/${port}`, '--udp-ports', 'none', '--udp-ns', 'none'],
    ['--tcp-ns', reaches.length === 0 ? 'none' : reaches.join(','), '--'],
  ].flat();

const privateRanges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
];

/** The second is of systemd, where the first names only a program on loopback, which a namespace does not reach. */
const resolverFiles = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

/** The servers that the machine asks for names, except those on loopback. */
export const findResolvers = (): readonly string[] => {
  const all = resolverFiles.flatMap((path) => {
    try {
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
    } catch {
      return [];
    }
  });
  return [...new Set(all.filter((one) => isIPv4(one) && !one.startsWith('127.')))].slice(0, 3);
};

/**
 * A script for the namespace, before the command may run there. The networks of the machine are closed too: to its neighbours, a
 * connection would come from the machine itself. Of a server for names, only that port is open: it may be the router.
 */
export const closeRoutes = (reach: readonly string[], resolvers: readonly string[]): string => {
  const own = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.flatMap(({ cidr, family, internal }) => (family === 'IPv4' && !internal && cidr !== null ? [cidr] : [])),
  );
  const closed = [...privateRanges, ...own.map(toNetwork)].map((range) => `route replace unreachable ${range}`);
  const open = reach.map((range) => `route replace ${range} via ${gateway}`);
  const names = resolvers.map((one) => `rule add to ${one}/32 dport 53 lookup 53`);
  const commands = [...closed, ...open, `route add default via ${gateway} table 53`, ...names];
  return `printf '${commands.join('\\n')}\\n' | ip -4 -batch - && `;
};

const toNetwork = (cidr: string): string => {
  const [text = '', length = '32'] = cidr.split('/');
  const address = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(length));
  const first = Math.floor(address / size) * size;
  return `${[24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join('.')}/${length}`;
};
