import type { Identity, JsonMap, ResolvedComponent } from '@eph/contract';
import type { KubeObject } from '@eph/kube/object';
import { computeDefaultLimits, printAmounts } from './default-limits.ts';
import { annotations, identityLabels } from './marks.ts';

export interface NamespaceSettings {
  /** Which ephd it belongs to. */
  readonly owner: string;
  readonly podSecurity: 'baseline' | 'restricted';
  /** Ranges of private addresses that environments may reach. */
  readonly reach: readonly string[];
  /** Where the gateway runs; absent where that is not in this cluster. */
  readonly gatewayNamespace?: string;
}

export const computeNamespace = (identity: Identity, name: string, { owner, podSecurity }: NamespaceSettings): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: {
    name,
    labels: {
      ...identityLabels(owner, identity.id),
      'pod-security.kubernetes.io/enforce': podSecurity,
      // Says at once which pods of a workload will be refused.
      'pod-security.kubernetes.io/warn': podSecurity,
      'pod-security.kubernetes.io/audit': podSecurity,
    },
    annotations: { [annotations.identity]: JSON.stringify(identity) },
  },
});

/** What keeps an environment from others and within its budget. */
export const computeGuards = (
  identity: Identity,
  namespace: string,
  settings: NamespaceSettings,
  budget: ResolvedComponent['budget'],
): readonly KubeObject[] => {
  const labels = identityLabels(settings.owner, identity.id);
  const guard = (apiVersion: string, kind: string, name: string, spec: JsonMap): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name, namespace, labels },
    spec,
  });
  const isolation = guard('networking.k8s.io/v1', 'NetworkPolicy', 'eph-isolation', computeIsolation(settings));
  if (budget === undefined || Object.keys(printAmounts(budget)).length === 0) return [isolation];
  return [
    isolation,
    guard('v1', 'LimitRange', 'eph-limits', computeLimits(budget)),
    guard('v1', 'ResourceQuota', 'eph-quota', computeQuota(budget)),
  ];
};

/** All that is not the public internet, where pods, nodes and the credentials of clouds are. */
const privateRanges4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  // Azure answers virtual machines here, although the address is a public one.
  '168.63.129.16/32',
];
/** Where IPv6 leads to an IPv4 address. */
const translated = (range: string): string => {
  const [address = '', bits] = range.split('/');
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(':');
  return `64:ff9b::${groups === '0:0' ? '' : groups}/${96 + Number(bits)}`;
};

const privateRanges6 = [
  '::1/128',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
  '2002::/16',
  '64:ff9b:1::/48',
  ...privateRanges4.map(translated),
];

/** Where caches of the cluster's DNS listen on each node: no pod has this address. */
const nodeDns = '169.254.20.10/32';

const computeIsolation = ({ reach, gatewayNamespace }: NamespaceSettings): JsonMap => {
  const range = (cidr: string): JsonMap => ({ ipBlock: { cidr } });
  const ownPods = { podSelector: {} };
  const dns = ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 }));
  const gateway =
    gatewayNamespace === undefined
      ? []
      : [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': gatewayNamespace } } }];
  return {
    podSelector: {},
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: [ownPods, ...gateway] }],
    egress: [
      { to: [ownPods] },
      { to: [{ namespaceSelector: {} }, range(nodeDns)], ports: dns },
      {
        to: [
          { ipBlock: { cidr: '0.0.0.0/0', except: privateRanges4 } },
          { ipBlock: { cidr: '::/0', except: privateRanges6 } },
          ...reach.map(range),
        ],
      },
    ],
  };
};

type Budget = NonNullable<ResolvedComponent['budget']>;

/** Exact: an environment that uses all of it has no room for a new version beside the old one. */
const computeQuota = (budget: Budget): JsonMap => ({
  hard: Object.fromEntries(Object.entries(printAmounts(budget)).map(([resource, amount]) => [`limits.${resource}`, amount])),
});

/** What a container asks for that asks for nothing: enough to be placed, whatever its limit. */
const smallRequest = { cpu: 0.05, memoryBytes: 64 * 2 ** 20 };

const computeLimits = (budget: Budget): JsonMap => {
  const limits = computeDefaultLimits(budget);
  const { cpu, memoryBytes } = limits;
  const requests = {
    ...(cpu !== undefined && { cpu: Math.min(cpu, smallRequest.cpu) }),
    ...(memoryBytes !== undefined && { memoryBytes: Math.min(memoryBytes, smallRequest.memoryBytes) }),
  };
  return { limits: [{ type: 'Container', default: printAmounts(limits), defaultRequest: printAmounts(requests) }] };
};
