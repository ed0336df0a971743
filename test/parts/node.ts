import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { CertificateAuthority } from './certificate-authority.ts';
import { cluster } from './cluster.ts';
import type { ClusterServer } from './cluster-server.ts';
import { nameServerAddress } from './coredns.ts';
import { getDebianPackage, unpackDebianPackage, unpackedPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import { findKubernetesPrograms, getKubernetesPrograms, locateKubernetesProgram, nodePrograms } from './kubernetes-programs.ts';
import { groupTrees, NodeMachine } from './node-machine.ts';
import { NodeAccess, type NodeAddress, NodeServer } from './node-server.ts';
import type { Finding, Part } from './part.ts';
import { createPartFolder, type PartProcess, type ProcessSpec, startPartProcess } from './part-process.ts';

const nodeName = 'node';
/** The network of the pods. */
const pods = '10.244.0.0/24';
const pauseImage = { name: 'eph.example.com/pause', tag: '1' };
const kubernetes = Object.values(nodePrograms);
const debian = {
  containerd: join('usr', 'bin', 'containerd'),
  runc: join('usr', 'sbin', 'runc'),
  'containernetworking-plugins': join('usr', 'lib', 'cni', 'ptp'),
  'busybox-static': join('bin', 'busybox'),
};
const networkPrograms: Readonly<Record<string, Search>> = {
  iptables: { program: 'iptables', places: ['/usr/sbin', '/sbin'] },
  iproute2: { program: 'ip', places: ['/usr/sbin', '/sbin', '/usr/bin', '/bin'] },
};

export const node: Part<void, NodeServer> = {
  name: 'node',
  purpose: 'Kubernetes that runs pods',
  /** Nobody can be asked for it where it cannot be. */
  get tier() {
    return explainObstacle() === undefined ? undefined : 'extended';
  },
  find: () => {
    const obstacle = explainObstacle();
    if (obstacle !== undefined) return { found: false, reason: obstacle };
    const findings = [cluster.find(), findKubernetesPrograms(kubernetes), findPackages()];
    return findings.find(({ found }) => !found) ?? findPackages();
  },
  get: async (progress, signal) => {
    if (!cluster.find().found) await cluster.get(progress, signal);
    for (const [name, search] of Object.entries(networkPrograms))
      if (findProgram(search, process.env) === undefined) await getDebianPackage('node', name, progress, signal);
    for (const [name, file] of Object.entries(debian))
      if (!existsSync(join(unpackedPackage(name), file))) await unpackDebianPackage('node', name, progress, signal);
    await getKubernetesPrograms('node', kubernetes, progress, signal);
  },
  start: async () => {
    const folder = createPartFolder('node');
    const stops: (() => Promise<void>)[] = [];
    try {
      return await startIn(folder, stops);
    } catch (error) {
      for (const stop of stops) await stop();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

/** Adds to `stops` what undoes what was started so far, the latest first. */
const startIn = async (folder: string, stops: (() => Promise<void>)[]): Promise<NodeServer> => {
  const started = <T extends { stop(): Promise<void> }>(running: T): T => {
    stops.unshift(() => running.stop());
    return running;
  };
  const machine = started(await NodeMachine.start(folder));
  const server = started(await cluster.start({ host: machine.hostAddress }));
  const socket = join(folder, 'containerd.sock');
  const run = (command: string, args: readonly string[], more: Pick<ProcessSpec, 'ready' | 'answers'>): Promise<PartProcess> =>
    // Programs of packages look for each other on the PATH.
    startPartProcess({ ...machine.within(command, args), env: { PATH: packagePath() }, ...more, stopSignal: 'SIGKILL' });

  await writeFile(join(folder, 'containerd.toml'), containerdConfiguration(folder, socket));
  await mkdir(join(folder, 'network'));
  await writeFile(join(folder, 'network', '10-pods.conflist'), JSON.stringify(networkConfiguration(folder)));
  await run(packageFile('containerd'), ['--config', join(folder, 'containerd.toml')], {
    ready: /containerd successfully booted/,
  });
  const address: NodeAddress = { cluster: server.address, ctr: join(dirname(packageFile('containerd')), 'ctr'), socket };
  await new NodeAccess(address).loadImage(pauseImage.name, pauseImage.tag, { Entrypoint: ['/bin/sleep', '2147483647'] });

  const kubeletConfig = await writeKubeletConfiguration(folder, machine, server, socket);
  const kubeletLogin = await server.createUser(`system:node:${nodeName}`, ['system:nodes']);
  const kubelet = [
    `--config=${kubeletConfig}`,
    `--kubeconfig=${await server.writeKubeconfig('kubelet', kubeletLogin)}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'kubelet')}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${machine.address}`,
  ];
  const proxyLogin = await server.createUser('system:kube-proxy');
  const proxy = [
    `--kubeconfig=${await server.writeKubeconfig('kube-proxy', proxyLogin)}`,
    `--hostname-override=${nodeName}`,
    `--cluster-cidr=${pods}`,
    '--proxy-mode=iptables',
    '--oom-score-adj=0',
    // These are settings of the whole machine.
    '--conntrack-max-per-core=0',
    '--conntrack-min=0',
  ];
  await Promise.all([
    run(locateKubernetesProgram(nodePrograms.kubelet), kubelet, { ready: /Started kubelet/, answers: () => isReady(server) }),
    run(locateKubernetesProgram(nodePrograms.proxy), proxy, { ready: /Caches are synced/ }),
  ]);
  return new NodeServer(folder, { ...address, machine, server });
};

const isReady = async ({ api }: ClusterServer): Promise<boolean> => {
  const response = await api.request('GET', `/api/v1/nodes/${nodeName}`);
  if (!response.ok) return false;
  const { status } = (await response.json()) as {
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  };
  return status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
};

/** Why this machine cannot be a node. */
const explainObstacle = (): string | undefined => {
  if (process.platform !== 'linux') return 'a node needs Linux';
  if (process.getuid?.() !== 0) return 'a node needs root';
  try {
    for (const tree of groupTrees()) accessSync(tree, constants.W_OK);
  } catch (error) {
    return `a node needs control groups: ${error instanceof Error ? error.message : String(error)}`;
  }
  const { status, stderr } = spawnSync('/usr/bin/unshare', ['--net', '--mount', '--pid', '--fork', 'true'], { encoding: 'utf8' });
  return status === 0 ? undefined : `a node needs a network and mounts of its own: ${stderr.trim()}`;
};

const findPackages = (): Finding => {
  for (const search of Object.values(networkPrograms))
    if (findProgram(search, process.env) === undefined) return { found: false, reason: describeSearch(search, process.env) };
  for (const [name, file] of Object.entries(debian))
    if (!existsSync(join(unpackedPackage(name), file)))
      return { found: false, reason: `no files of the Debian package ${name} in ${unpackedPackage(name)}` };
  return { found: true, where: packageFile('containerd'), version: readVersion(packageFile('containerd'), '--version') };
};

const packageFile = (name: keyof typeof debian): string => join(unpackedPackage(name), debian[name]);

const packagePath = (): string =>
  [dirname(packageFile('containerd')), dirname(packageFile('runc')), '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(delimiter);

/** JSON strings are TOML strings. Nothing is written outside the folder. */
const containerdConfiguration = (folder: string, socket: string): string => `version = 2
root = ${JSON.stringify(join(folder, 'containerd'))}
state = ${JSON.stringify(join(folder, 'containerd-state'))}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = ${JSON.stringify(socket)}
[plugins."io.containerd.internal.v1.opt"]
path = ${JSON.stringify(join(folder, 'containerd-opt'))}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "${pauseImage.name}:${pauseImage.tag}"
# Containers of machines that may not make a process less likely to be killed.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = ${JSON.stringify(dirname(packageFile('containernetworking-plugins')))}
conf_dir = ${JSON.stringify(join(folder, 'network'))}
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = ${JSON.stringify(packageFile('runc'))}
`;

/** A cable for each pod: behind a bridge, services would depend on a setting of the whole machine. */
const networkConfiguration = (folder: string) => ({
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'ptp',
      ipMasq: true,
      ipam: { type: 'host-local', subnet: pods, routes: [{ dst: '0.0.0.0/0' }], dataDir: join(folder, 'addresses') },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

const writeKubeletConfiguration = async (
  folder: string,
  machine: NodeMachine,
  server: ClusterServer,
  socket: string,
): Promise<string> => {
  const authority = new CertificateAuthority(server.folder);
  const { certificate, key } = await authority.issue({ name: nodeName, hosts: [`IP:${machine.address}`] });
  const [certificateFile, keyFile] = [join(folder, 'kubelet.pem'), join(folder, 'kubelet.key')];
  await writeFile(certificateFile, certificate);
  await writeFile(keyFile, key, { mode: 0o600 });
  const configuration = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: machine.address,
    tlsCertFile: certificateFile,
    tlsPrivateKeyFile: keyFile,
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: authority.certificateFile } },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: `unix://${socket}`,
    clusterDomain: 'cluster.local',
    clusterDNS: [nameServerAddress],
    podLogsDir: join(folder, 'logs'),
    volumePluginDir: join(folder, 'volume-plugins'),
    cgroupRoot: `/${machine.group}`,
    cgroupDriver: 'cgroupfs',
    failCgroupV1: false,
    failSwapOn: false,
    // The machine belongs to others as well, and may be as full as they like.
    enforceNodeAllocatable: [],
    evictionHard: { 'memory.available': '1Mi' },
    imageGCHighThresholdPercent: 100,
    localStorageCapacityIsolation: false,
    oomScoreAdj: 0,
    healthzPort: 0,
    registryPullQPS: 0,
    serializeImagePulls: false,
  };
  const file = join(folder, 'kubelet.json');
  await writeFile(file, JSON.stringify(configuration));
  return file;
};
