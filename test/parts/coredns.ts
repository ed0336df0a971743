import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findGoProgram, type GoProgram, getGoProgram } from './go-module.ts';
import type { NodeAccess } from './node-server.ts';
import type { Program } from './part.ts';

const program: GoProgram = {
  program: 'coredns',
  module: 'github.com/coredns/coredns',
  version: '1.15.0',
  sum: 'h1:OBT+OEyHVdUiVxPhrNlC5XZVq3RkSxzQXfZQ76gm5ck=',
  package: 'github.com/coredns/coredns',
  tags: [],
  variables: {},
  needsC: false,
  data: [],
  versionFlag: '-version',
};

export const coredns: Program = {
  name: 'coredns',
  purpose: 'name server of Kubernetes, by which pods find Services',
  tier: 'extended',
  find: () => findGoProgram(program, process.env),
  get: (progress, signal) => getGoProgram('coredns', program, progress, signal),
};

/** Whom pods on a node ask for names. Without `startNameServer`, nothing answers there. */
export const nameServerAddress = '10.96.0.10';

const port = 1053;
const configuration = `.:${port} {
  errors
  ready :8181
  kubernetes cluster.local
}
`;

/** Makes Services known by their names to all pods on the node, and returns once they are. Safe to repeat. */
export const startNameServer = async (node: NodeAccess): Promise<void> => {
  const { cluster: access } = node;
  const finding = coredns.find();
  if (!finding.found) throw new Error(`coredns is missing: ${finding.reason}`);
  const execution = { Entrypoint: ['/coredns', '-conf', '/Corefile'], User: '1000:1000' };
  const image = await node.loadImage('eph.example.com/coredns', '1', execution, async (files) => {
    await copyFile(finding.where, join(files, 'coredns'));
    await writeFile(join(files, 'Corefile'), configuration);
  });
  const file = join(access.address.folder, 'coredns.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: describeNameServer(image) }));
  await access.kubectl('apply', '--server-side', `--filename=${file}`);
  await access.kubectl('rollout', 'status', 'deployment/coredns', '--namespace=kube-system', '--timeout=60s');
};

const describeNameServer = (image: string): readonly object[] => {
  const metadata = { name: 'coredns', namespace: 'kube-system' };
  const labels = { app: 'coredns' };
  const rights = 'rbac.authorization.k8s.io';
  const verbs = ['list', 'watch'];
  const container = {
    name: 'coredns',
    image,
    ports: [{ containerPort: port, protocol: 'UDP' }, { containerPort: port }],
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rights}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'coredns' },
      rules: [
        { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs },
        { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      ],
    },
    {
      apiVersion: `${rights}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'coredns' },
      roleRef: { apiGroup: rights, kind: 'ClusterRole', name: 'coredns' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { serviceAccountName: 'coredns', dnsPolicy: 'Default', containers: [container] },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        clusterIP: nameServerAddress,
        selector: labels,
        ports: ['UDP', 'TCP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 53, targetPort: port })),
      },
    },
  ];
};
