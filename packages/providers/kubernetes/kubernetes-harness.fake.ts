import { randomBytes } from 'node:crypto';
import { providerName, type ResolvedComponent } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';
import type { ComponentRequest, ProviderHarness } from '@eph/engine/provider/provider.contract';
import { systemClock } from '@eph/engine/time/system-clock';
import type { ClusterAccess } from '../../../test/parts/cluster-server.ts';
import { createKubernetesProvider, type KubernetesProviderOptions } from './provider.ts';

export const never = new AbortController().signal;

/** Nobody else's on a cluster that others use at the same time. */
const newOwner = (): string => `t${randomBytes(4).toString('hex')}`;

/** Pods that show what is asked of them, and log the commit when they start. */
const toValues = (image: string, { name, commit, behaviour }: ComponentRequest): ResolvedComponent['values'] => {
  const [command, probe] = {
    'gets ready': [
      `echo started ${commit}; echo apples > /tmp/index.html; exec httpd -f -p 8080 -h /tmp`,
      { httpGet: { path: '/', port: 8080 } },
    ],
    'never ready': [`echo started ${commit}; exec sleep 1000`, { exec: { command: ['false'] } }],
    crashes: [`echo started ${commit}; exit 3`, { exec: { command: ['false'] } }],
  }[behaviour] as [string, object];
  const labels = { app: name };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      progressDeadlineSeconds: 5,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name,
              image,
              command: ['sh', '-c', command],
              ports: [{ containerPort: 8080 }],
              readinessProbe: { ...probe, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  };
  return { objects: [deployment, service], entry: { service: name, port: 80 } };
};

/** A provider over a real cluster, whose environments are its own. */
export class KubernetesHarness implements ProviderHarness {
  readonly owner = newOwner();
  readonly image: string;
  readonly refusedValues = { objects: 'none' };
  readonly port = 8080;
  readonly #access: ClusterAccess;
  readonly #options: Partial<KubernetesProviderOptions>;
  #provider: ReturnType<typeof createKubernetesProvider>;

  constructor(access: ClusterAccess, image: string, options: Partial<KubernetesProviderOptions> = {}) {
    this.#access = access;
    this.image = image;
    this.#options = options;
    this.#provider = this.#create();
  }

  provider(): Provider {
    return this.#provider;
  }

  async restart(): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
    this.#provider = this.#create();
  }

  values(request: ComponentRequest): ResolvedComponent['values'] {
    return toValues(this.image, request);
  }

  async until(check: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!(await check())) {
      if (Date.now() > deadline) throw new Error('still not true after a minute');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** What is in the cluster stays. */
  async stop(): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#access.kubectl('delete', 'namespaces', `--selector=eph.io/owner=${this.owner}`, '--wait=false');
  }

  #create() {
    return createKubernetesProvider({
      name: providerName('kubernetes'),
      location: { kubeconfig: this.#access.address.kubeconfig },
      owner: this.owner,
      reached: 'forward',
      podSecurity: 'baseline',
      reach: [],
      copyRules: [],
      secretOf: () => undefined,
      urlOf: ({ name }) => `http://${name}.test`,
      clock: systemClock,
      random: Math.random,
      ...this.#options,
    });
  }
}
