import { generateKeyPairSync } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificate, CertificateAuthority } from './certificate-authority.ts';
import { ClusterApi, type Login } from './cluster-api.ts';
import { ClusterServer } from './cluster-server.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { controlPlane, findKubernetesPrograms, getKubernetesPrograms, locateKubernetesProgram } from './kubernetes-programs.ts';
import { openssl } from './openssl.ts';
import type { Part } from './part.ts';
import { createPartFolder, type PartProcess, type ProcessSpec, startOnFreePort, startPartProcess } from './part-process.ts';

const programs = Object.values(controlPlane);
const loopback = '127.0.0.1';
const files = {
  serverCertificate: 'server.pem',
  serverKey: 'server.key',
  kubeletCertificate: 'kubelet-client.pem',
  kubeletKey: 'kubelet-client.key',
  tokenKey: 'tokens.key',
};
/** The first of the range of services, which the service `kubernetes` gets. */
const serviceAddress = '10.96.0.1';

export interface ClusterOptions {
  /** Where nodes reach the API server. Default `127.0.0.1`, for no node at all. */
  readonly host?: string;
  /** How much etcd stores before it refuses to store more. */
  readonly storageBytes?: number;
}

export const cluster: Part<ClusterOptions | void, ClusterServer> = {
  name: 'cluster',
  purpose: 'Kubernetes without nodes, with kubectl and helm',
  find: () => {
    const certificates = openssl.find();
    return certificates.found ? findKubernetesPrograms(programs) : certificates;
  },
  get: async (progress, signal) => {
    if (!openssl.find().found) await openssl.get(progress, signal);
    await getKubernetesPrograms('cluster', programs, progress, signal);
  },
  start: async (options) => {
    const folder = createPartFolder('cluster');
    const started: PartProcess[] = [];
    try {
      return await startIn(folder, started, options ?? {});
    } catch (error) {
      await Promise.all(started.map((one) => one.stop()));
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  },
};

/** What is started is added to `started` at once. */
const startIn = async (folder: string, started: PartProcess[], options: ClusterOptions): Promise<ClusterServer> => {
  const locate = locateKubernetesProgram;
  // Nothing that a test leaves in a cluster is worth an orderly shutdown.
  const common = { folder, asOurselves: true, stopSignal: 'SIGKILL' } as const;
  const start = async (spec: Omit<ProcessSpec, keyof typeof common>): Promise<PartProcess> => {
    const running = await startPartProcess({ ...common, ...spec });
    started.push(running);
    return running;
  };
  const { host = loopback } = options;
  const credentials = await writeCredentials(folder, host);
  const { authority, admin } = credentials;

  const etcd = await startOnFreePort(async (candidate) => {
    const url = `http://127.0.0.1:${candidate}`;
    const args = etcdArguments(folder, url, options);
    await start({ command: locate(controlPlane.etcd), args, ready: /ready to serve client requests/ });
    return url;
  });
  const startApiServer = async (candidate: number): Promise<PartProcess> => {
    const own = new ClusterApi(`https://${host}:${candidate}`, authority, admin);
    try {
      return await start({
        command: locate(controlPlane.apiServer),
        args: apiServerArguments(folder, host, candidate, etcd),
        ready: /Serving securely/,
        answers: () => succeeds(own, '/readyz'),
      });
    } finally {
      await own.close();
    }
  };
  const { port, apiServer } = await startOnFreePort(async (candidate) => ({
    port: candidate,
    apiServer: await startApiServer(candidate),
  }));

  const server = `https://${host}:${port}`;
  const kubeconfig = (name: string, login: Login): Promise<string> => writeKubeconfig(folder, name, { server, authority, login });
  const api = new ClusterApi(server, authority, admin);
  try {
    await Promise.all([
      start({
        command: locate(controlPlane.controllerManager),
        args: controllerManagerArguments(folder, await kubeconfig('controller-manager', credentials.controllerManager)),
        ready: /Starting/,
        // The last thing that a namespace needs before pods can be in it.
        answers: () => succeeds(api, '/api/v1/namespaces/default/serviceaccounts/default'),
      }),
      api.send('POST', '/apis/storage.k8s.io/v1/storageclasses', { body: storageClass }),
      start({
        command: locate(controlPlane.scheduler),
        args: schedulerArguments(await kubeconfig('scheduler', credentials.scheduler)),
        ready: /Starting Kubernetes Scheduler/,
      }),
    ]);
  } finally {
    await api.close();
  }
  return new ClusterServer({
    folder,
    port,
    url: server,
    authority,
    admin,
    kubeconfig: await kubeconfig('admin', admin),
    kubectl: locate(controlPlane.kubectl),
    helm: locate(controlPlane.helm),
    apiServer,
    startApiServer: () => startApiServer(port),
    others: started.filter((one) => one !== apiServer),
  });
};

const writeCredentials = async (folder: string, host: string) => {
  const authority = await CertificateAuthority.create(folder);
  const login = async (name: string, ...organisations: readonly string[]): Promise<Login> => ({
    type: 'certificate',
    ...(await authority.issue({ name, organisations })),
  });
  const names = ['DNS:localhost', 'DNS:kubernetes.default.svc', `IP:${host}`, `IP:${serviceAddress}`];
  const write = async (certificateFile: string, keyFile: string, { certificate, key }: Certificate): Promise<void> => {
    await writeFile(join(folder, certificateFile), certificate);
    await writeFile(join(folder, keyFile), key, { mode: 0o600 });
  };
  await write(files.serverCertificate, files.serverKey, await authority.issue({ name: 'kube-apiserver', hosts: names }));
  // With which it asks kubelets for logs and the like.
  const client = await authority.issue({ name: 'kube-apiserver', organisations: ['system:masters'] });
  await write(files.kubeletCertificate, files.kubeletKey, client);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // Of the two formats, the API server finds the public key only in this one.
  const tokenKey = privateKey.export({ type: 'sec1', format: 'pem' });
  await writeFile(join(folder, files.tokenKey), tokenKey, { mode: 0o600 });
  return {
    authority: await readFile(authority.certificateFile, 'utf8'),
    // Of the group that may do everything, whatever the roles are.
    admin: await login('admin', 'system:masters'),
    controllerManager: await login('system:kube-controller-manager'),
    scheduler: await login('system:kube-scheduler'),
  };
};

const succeeds = async (api: ClusterApi, path: string): Promise<boolean> => {
  try {
    return (await api.request('GET', path)).ok;
  } catch {
    return false; // It does not listen yet, or it is another server, whose certificate is not ours.
  }
};

const toArguments = (values: Readonly<Record<string, string | number | boolean>>): string[] =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`);

/** Durability is not needed in tests. */
const etcdArguments = (folder: string, url: string, { storageBytes = 0 }: ClusterOptions): string[] =>
  toArguments({
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': 'http://127.0.0.1:0',
    'unsafe-no-fsync': true,
    'quota-backend-bytes': storageBytes,
  });

const apiServerArguments = (folder: string, host: string, port: number, etcd: string): string[] =>
  toArguments({
    'etcd-servers': etcd,
    'bind-address': host,
    // Pods reach it here. It refuses to advertise loopback, where there are no pods that could.
    'advertise-address': host === loopback ? serviceAddress : host,
    'endpoint-reconciler-type': host === loopback ? 'none' : 'lease',
    'secure-port': port,
    'service-cluster-ip-range': '10.96.0.0/16',
    'tls-cert-file': join(folder, files.serverCertificate),
    'tls-private-key-file': join(folder, files.serverKey),
    'client-ca-file': new CertificateAuthority(folder).certificateFile,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(folder, files.tokenKey),
    'service-account-signing-key-file': join(folder, files.tokenKey),
    'kubelet-client-certificate': join(folder, files.kubeletCertificate),
    'kubelet-client-key': join(folder, files.kubeletKey),
    'kubelet-preferred-address-types': 'InternalIP',
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    // Who may make a pod privileged is for others to say, as in most clusters.
    'allow-privileged': true,
  });

/** The limits on its own requests are not the defaults: it has the cluster for itself. */
const controllerManagerArguments = (folder: string, kubeconfig: string): string[] =>
  toArguments({
    kubeconfig,
    'leader-elect': false,
    'secure-port': 0,
    'use-service-account-credentials': true,
    'service-account-private-key-file': join(folder, files.tokenKey),
    'root-ca-file': new CertificateAuthority(folder).certificateFile,
    'kube-api-qps': 500,
    'kube-api-burst': 1000,
    'enable-hostpath-provisioner': true,
  });

/** Volumes are folders of this machine. */
const storageClass = {
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'kubernetes.io/host-path',
};

const schedulerArguments = (kubeconfig: string): string[] =>
  toArguments({ kubeconfig, 'leader-elect': false, 'secure-port': 0, 'kube-api-qps': 500, 'kube-api-burst': 1000 });
