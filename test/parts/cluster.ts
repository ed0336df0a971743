import { generateKeyPairSync } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CertificateAuthority } from './certificate-authority.ts';
import { ClusterApi, type Login } from './cluster-api.ts';
import { ClusterServer } from './cluster-server.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { controlPlane, findKubernetesPrograms, getKubernetesPrograms, locateKubernetesProgram } from './kubernetes-programs.ts';
import { openssl } from './openssl.ts';
import type { Part } from './part.ts';
import { createPartFolder, type PartProcess, type ProcessSpec, startOnFreePort, startPartProcess } from './part-process.ts';

const programs = Object.values(controlPlane);
const files = { serverCertificate: 'server.pem', serverKey: 'server.key', tokenKey: 'tokens.key' };
/** The first of the range of services, which the service `kubernetes` gets. */
const serviceAddress = '10.96.0.1';

export interface ClusterOptions {
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
  const credentials = await writeCredentials(folder);
  const { authority, admin } = credentials;

  const etcd = await startOnFreePort(async (candidate) => {
    const url = `http://127.0.0.1:${candidate}`;
    const args = etcdArguments(folder, url, options);
    await start({ command: locate(controlPlane.etcd), args, ready: /ready to serve client requests/ });
    return url;
  });
  const startApiServer = async (candidate: number): Promise<PartProcess> => {
    const own = new ClusterApi(`https://127.0.0.1:${candidate}`, authority, admin);
    try {
      return await start({
        command: locate(controlPlane.apiServer),
        args: apiServerArguments(folder, candidate, etcd),
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

  const server = `https://127.0.0.1:${port}`;
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

const writeCredentials = async (folder: string) => {
  const authority = await CertificateAuthority.create(folder);
  const login = async (name: string, ...organisations: readonly string[]): Promise<Login> => ({
    type: 'certificate',
    ...(await authority.issue({ name, organisations })),
  });
  const names = ['DNS:localhost', 'DNS:kubernetes.default.svc', 'IP:127.0.0.1', `IP:${serviceAddress}`];
  const server = await authority.issue({ name: 'kube-apiserver', hosts: names });
  await writeFile(join(folder, files.serverCertificate), server.certificate);
  await writeFile(join(folder, files.serverKey), server.key, { mode: 0o600 });
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

/** Pods and services have addresses that nobody routes. */
const apiServerArguments = (folder: string, port: number, etcd: string): string[] =>
  toArguments({
    'etcd-servers': etcd,
    'bind-address': '127.0.0.1',
    'advertise-address': serviceAddress,
    'endpoint-reconciler-type': 'none',
    'secure-port': port,
    'service-cluster-ip-range': '10.96.0.0/16',
    'tls-cert-file': join(folder, files.serverCertificate),
    'tls-private-key-file': join(folder, files.serverKey),
    'client-ca-file': new CertificateAuthority(folder).certificateFile,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(folder, files.tokenKey),
    'service-account-signing-key-file': join(folder, files.tokenKey),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    // Who may make a pod privileged is for others to say, as in most clusters.
    'allow-privileged': true,
  });

/** Only the limits on its own requests are not the defaults: it has the machine for itself. */
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
  });

const schedulerArguments = (kubeconfig: string): string[] =>
  toArguments({ kubeconfig, 'leader-elect': false, 'secure-port': 0, 'kube-api-qps': 500, 'kube-api-burst': 1000 });
