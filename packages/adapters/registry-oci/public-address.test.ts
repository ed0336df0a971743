import { describe, expect, it } from 'vitest';
import { createPublicLookup, type ResolveName } from './connections.ts';
import { isPublicAddress } from './public-address.ts';

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '140.82.121.34',
  '223.255.255.254',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
];

const otherAddresses = [
  '0.0.0.0',
  '10.0.0.5',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '168.63.129.16',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::a00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
];

describe('an address', () => {
  it.each(publicAddresses)('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each(otherAddresses)('%j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('a name', () => {
  /** Answers as name servers would. */
  const resolveTo =
    (...addresses: readonly string[]): ResolveName =>
    () =>
      Promise.resolve(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));

  const look = (resolve: ResolveName, all: boolean, hostname = 'registry.example') =>
    new Promise((done, fail) => {
      createPublicLookup(resolve)(hostname, { all }, (error, address) => (error === null ? done(address) : fail(error)));
    });

  it('leads to its addresses, one or all', async () => {
    const resolve = resolveTo('8.8.8.8', '2606:4700:4700::1111');
    expect(await look(resolve, false)).toBe('8.8.8.8');
    expect(await look(resolve, true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ]);
  });

  it.each([true, false])('leads nowhere if one of them is not public, and does not show it', async (all) => {
    for (const resolve of [resolveTo('10.1.2.3'), resolveTo('8.8.8.8', '10.1.2.3'), resolveTo('8.8.8.8', 'fd00::1'), resolveTo()])
      await expect(look(resolve, all)).rejects.toMatchObject({
        code: 'registry.refused',
        message: expect.stringMatching(/^registry\.example is not at a public address(?!.*(10\.1\.2\.3|fd00)).*under registries/),
      });
  });

  it.each(['localhost', 'LOCALHOST.', 'registry.localhost'])(
    'is not asked for if it is always this machine: %s',
    async (name) => {
      await expect(look(resolveTo('8.8.8.8'), true, name)).rejects.toMatchObject({ code: 'registry.refused' });
    },
  );

  it('that is not known is an error of the name servers', async () => {
    const unknown = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    await expect(look(() => Promise.reject(unknown), true)).rejects.toBe(unknown);
  });
});
