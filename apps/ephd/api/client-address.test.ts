import { describe, expect, it } from 'vitest';
import { createNetworks, findClientAddress } from './client-address.ts';

const proxies = createNetworks(['10.0.0.0/8', '192.0.2.7', 'fd00::/16']);

describe('the address of a client', () => {
  it.each([
    ['203.0.113.5', '', '203.0.113.5'],
    ['203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['10.1.2.3', '', '10.1.2.3'],
    ['10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['10.1.2.3', '1.1.1.1, 198.51.100.1, 192.0.2.7', '198.51.100.1'],
    ['10.1.2.3', '10.9.9.9, 192.0.2.7', '10.9.9.9'],
    ['10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    ['10.1.2.3', '198.51.100.1, ', '10.1.2.3'],
    ['10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['10.1.2.3', '[2001:db8::1]:4711', '2001:db8::1'],
    ['10.1.2.3', '2001:DB8::1', '2001:db8::1'],
    ['::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['fd00::1', '2001:db8::1', '2001:db8::1'],
    ['fd01::1', '2001:db8::1', 'fd01::1'],
    ['10.1.2.3', '<script>', '10.1.2.3'],
    ['', '198.51.100.1', ''],
  ])('of %j with X-Forwarded-For %j is %j', (peer, forwardedFor, client) => {
    expect(findClientAddress(peer, forwardedFor, proxies)).toBe(client);
  });

  it('is that of the connection where no proxy is trusted', () => {
    expect(findClientAddress('127.0.0.1', '198.51.100.1', createNetworks([]))).toBe('127.0.0.1');
  });
});
