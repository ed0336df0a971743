import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { CertificateAuthority } from './certificate-authority.ts';
import { ClusterApi, type Login } from './cluster-api.ts';
import { type KubeconfigOptions, writeKubeconfig } from './kubeconfig.ts';
import type { RunningPart } from './part.ts';
import type { PartProcess } from './part-process.ts';

const execute = promisify(execFile);

/** Where a cluster is, who administers it, and which programs speak to it. */
export interface ClusterAddress {
  readonly folder: string;
  readonly port: number;
  readonly url: string;
  /** The certificate of its authority, in PEM. */
  readonly authority: string;
  readonly admin: Login;
  /** A kubeconfig of the administrator. */
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly helm: string;
}

/** A running cluster with the credentials of its administrator. */
export class ClusterAccess {
  readonly address: ClusterAddress;
  readonly url: string;
  /** With the credentials of the administrator. */
  readonly api: ClusterApi;

  constructor(address: ClusterAddress) {
    this.address = address;
    this.url = address.url;
    this.api = this.as(address.admin);
  }

  get kubeconfig(): string {
    return this.address.kubeconfig;
  }

  as(login: Login): ClusterApi {
    return new ClusterApi(this.url, this.address.authority, login);
  }

  /** Whoever has a certificate with this name is the user. */
  async createUser(name: string, groups: readonly string[] = []): Promise<Login> {
    const authority = new CertificateAuthority(this.address.folder);
    return { type: 'certificate', ...(await authority.issue({ name, organisations: groups })) };
  }

  /** For a service account that exists. */
  async createToken(namespace: string, serviceAccount: string): Promise<Login> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    const { status } = await this.api.send<{ readonly status: { readonly token: string } }>('POST', path, { body });
    return { type: 'token', token: status.token };
  }

  /** Returns the path of a file whose only context has this name, which is nobody else's. */
  writeKubeconfig(name: string, login: Login, options: Partial<KubeconfigOptions> = {}): Promise<string> {
    const { folder, authority } = this.address;
    return writeKubeconfig(folder, name, { server: this.url, authority, login, ...options });
  }

  /** Returns its name, which nobody else has. */
  async createNamespace(name: string): Promise<string> {
    const body = { metadata: { generateName: `${name}-` } };
    return (await this.api.send('POST', '/api/v1/namespaces', { body })).metadata.name;
  }

  /** What `kubectl` prints for the administrator. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { stdout } = await execute(this.address.kubectl, ['--kubeconfig', this.kubeconfig, ...args]);
    return stdout;
  }
}

export interface ClusterInstance extends ClusterAddress {
  readonly apiServer: PartProcess;
  startApiServer(): Promise<PartProcess>;
  /** All but the API server. */
  readonly others: readonly PartProcess[];
}

/** A cluster of one's own. */
export class ClusterServer extends ClusterAccess implements RunningPart {
  readonly folder: string;
  readonly port: number;
  readonly #instance: ClusterInstance;
  #apiServer: PartProcess | undefined;

  constructor(instance: ClusterInstance) {
    super(instance);
    this.folder = instance.folder;
    this.port = instance.port;
    this.#instance = instance;
    this.#apiServer = instance.apiServer;
  }

  /** Kills the API server amid what it does, and keeps its data and port for `resumeApiServer`. */
  async killApiServer(): Promise<void> {
    await this.#apiServer?.stop();
    this.#apiServer = undefined;
  }

  async resumeApiServer(): Promise<void> {
    this.#apiServer ??= await this.#instance.startApiServer();
  }

  async stop(): Promise<void> {
    // If it does not answer, what is left are folders of no consequence.
    if (this.#apiServer !== undefined) await this.#removeVolumes().catch(() => undefined);
    await this.api.close();
    await Promise.all([this.killApiServer(), ...this.#instance.others.map((one) => one.stop())]);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Kubernetes creates them outside the folder. */
  async #removeVolumes(): Promise<void> {
    const { items } = await this.api.send<VolumeList>('GET', '/api/v1/persistentvolumes');
    for (const { spec } of items)
      if (spec.hostPath?.path.startsWith(provisioned) === true) await rm(spec.hostPath.path, { recursive: true, force: true });
  }
}

/** Where the controller manager creates volumes, whatever it is told. */
const provisioned = '/tmp/hostpath_pv/';

interface VolumeList {
  readonly items: readonly { readonly spec: { readonly hostPath?: { readonly path: string } } }[];
}
