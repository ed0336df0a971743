import { BlockList, isIPv6 } from 'node:net';
import { asList, asMap, asText, type JsonValue } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { computeGuards, computeNamespace, type NamespaceSettings } from './namespace-objects.ts';
import { shopIdentity } from './resolved-component.fake.ts';

const settings: NamespaceSettings = { owner: 'main', podSecurity: 'baseline', reach: [] };

const specOf = (kind: string, more: Partial<NamespaceSettings> = {}, budget: Parameters<typeof computeGuards>[3] = {}) =>
  asMap(
    computeGuards(shopIdentity, 'eph-shop-1234', { ...settings, ...more }, budget).find((one) => one.kind === kind)?.[
      'spec'
    ] as JsonValue,
  );

describe('the namespace of an environment', () => {
  it('says whose it is, and what its pods may do', () => {
    const { metadata } = computeNamespace(shopIdentity, 'eph-shop-1234', { ...settings, podSecurity: 'restricted' });
    expect(metadata.labels).toEqual({
      'eph.io/owner': 'main',
      'eph.io/environment': '0123456789abcdef',
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
      'pod-security.kubernetes.io/audit': 'restricted',
    });
    expect(JSON.parse(metadata.annotations?.['eph.io/identity'] ?? '')).toEqual(shopIdentity);
  });

  it('has no quota without a budget, and one for what the budget names', () => {
    const kindsOf = (budget: Parameters<typeof computeGuards>[3]) =>
      computeGuards(shopIdentity, 'n', settings, budget).map(({ kind }) => kind);
    expect(kindsOf(undefined)).toEqual(['NetworkPolicy']);
    expect(specOf('ResourceQuota', {}, { cpu: 1.5 })).toEqual({ hard: { 'limits.cpu': '1500m' } });
    expect(specOf('ResourceQuota', {}, { memoryBytes: 2 ** 30 })).toEqual({ hard: { 'limits.memory': '1024Mi' } });
  });

  it.each([
    [
      { cpu: 8, memoryBytes: 8 * 2 ** 30 },
      { cpu: '800m', memory: '512Mi' },
      { cpu: '50m', memory: '64Mi' },
    ],
    [
      { cpu: 0.5, memoryBytes: 256 * 2 ** 20 },
      { cpu: '100m', memory: '128Mi' },
      { cpu: '50m', memory: '64Mi' },
    ],
    [
      { cpu: 0.03, memoryBytes: 32 * 2 ** 20 },
      { cpu: '30m', memory: '32Mi' },
      { cpu: '30m', memory: '32Mi' },
    ],
  ])('gives containers without limits a share of %j', (budget, limits, requests) => {
    expect(specOf('LimitRange', {}, budget)).toEqual({
      limits: [{ type: 'Container', default: limits, defaultRequest: requests }],
    });
  });
});

describe('the network of an environment', () => {
  /** Whether a rule for ranges of addresses lets a pod reach this one, on any port. */
  const reaches = (address: string, more: Partial<NamespaceSettings> = {}): boolean => {
    const blocks = asList(specOf('NetworkPolicy', more)['egress'])
      .map(asMap)
      .filter(({ ports }) => ports === undefined)
      .flatMap(({ to }) => asList(to).flatMap((peer) => asMap(peer)['ipBlock'] ?? []))
      .map(asMap);
    return blocks.some(({ cidr, except = [] }) => isIn(address, [cidr]) && !isIn(address, asList(except)));
  };
  const isIn = (address: string, ranges: readonly (JsonValue | undefined)[]): boolean => {
    const list = new BlockList();
    const family = familyOf(address);
    for (const [network = '', bits] of ranges.map((range) => asText(range).split('/')))
      if (familyOf(network) === family) list.addSubnet(network, Number(bits), family);
    return list.check(address, family);
  };
  const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

  it.each(['1.1.1.1', '93.184.215.14', '2606:4700::1111', '64:ff9b::101:101'])('leads to %s', (address) => {
    expect(reaches(address)).toBe(true);
  });

  it.each([
    '169.254.169.254',
    '169.254.20.10',
    '168.63.129.16',
    '10.0.0.1',
    '172.20.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '127.0.0.1',
    '224.0.0.1',
    '::1',
    'fd00:ec2::254',
    'fe80::1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::a00:1',
    '2002:a00:1::1',
  ])('does not lead to %s', (address) => {
    expect(reaches(address)).toBe(false);
  });

  it('leads to private addresses that the operator names', () => {
    expect(reaches('10.20.3.4', { reach: ['10.20.0.0/16'] })).toBe(true);
    expect(reaches('10.21.3.4', { reach: ['10.20.0.0/16'] })).toBe(false);
  });

  it('leads to names, in any namespace', () => {
    const ports = [
      { protocol: 'UDP', port: 53 },
      { protocol: 'TCP', port: 53 },
    ];
    expect(specOf('NetworkPolicy')['egress']).toContainEqual({
      to: [{ namespaceSelector: {} }, { ipBlock: { cidr: '169.254.20.10/32' } }],
      ports,
    });
  });

  it('is entered from its own pods and the gateway alone', () => {
    const own = { podSelector: {} };
    const gateway = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'eph' } } };
    expect(specOf('NetworkPolicy')).toMatchObject({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [own] }],
    });
    expect(specOf('NetworkPolicy', { gatewayNamespace: 'eph' })['ingress']).toEqual([{ from: [own, gateway] }]);
  });
});
