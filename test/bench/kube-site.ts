import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BenchFolder, type RunningEphd, startEphd } from './bench-ephd.ts';

export const objectCount = 10;

const labelled = (name: string) => ({ app: name });

const deployment = (name: string, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 1,
    selector: { matchLabels: labelled(name) },
    template: {
      metadata: { labels: labelled(name) },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name,
            image,
            ports: [{ containerPort: 8080, name: 'http' }],
            envFrom: [{ configMapRef: { name: 'settings' } }, { secretRef: { name: 'keys' } }],
            resources: { requests: { cpu: '10m', memory: '16Mi' } },
            readinessProbe: { httpGet: { path: '/', port: 'http' }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
});

const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: labelled(name), ports: [{ port: 80, targetPort: 'http' }] },
});

const settings = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { MODE: 'preview', REGION: 'eu-central', TITLE: 'Shop' },
});

/** An ordinary small application. */
export const objectsOf = (image: string) => [
  deployment('web', image),
  service('web'),
  deployment('api', image),
  service('api'),
  settings('settings'),
  settings('page'),
  settings('features'),
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys' }, stringData: { SESSION_KEY: 'not-a-secret-anywhere' } },
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'shop' } },
  {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { minAvailable: 1, selector: { matchLabels: labelled('web') } },
  },
];

export interface KubeSiteOptions {
  readonly kubeconfig: string;
  /** The host of the registry that has the image. */
  readonly registry: string;
  readonly image: string;
}

/** A repository with manifests, and the configuration of an ephd that makes environments of them in a cluster. */
export class KubeSite implements Disposable {
  readonly manifests: string;
  readonly #bench = new BenchFolder();
  readonly #commit: string;

  constructor({ kubeconfig, registry, image }: KubeSiteOptions) {
    const { folder, origin, config } = this.#bench;
    const copy = join(folder, 'copy');
    mkdirSync(copy);
    this.manifests = join(copy, 'k8s.yaml');
    writeFileSync(
      this.manifests,
      objectsOf(image)
        .map((one) => JSON.stringify(one))
        .join('\n---\n'),
    );
    const kubernetes = { manifests: ['k8s.yaml'], entry: { service: 'web' } };
    writeFileSync(join(copy, 'eph.yaml'), JSON.stringify({ version: '1.0', name: 'shop', kubernetes }));
    const settings = {
      data: 'data',
      api: { port: 0 },
      gateway: { port: 20_000 + (process.pid % 10_000) },
      deletion_bound: { at_least: 1_000 },
      providers: { cluster: { type: 'kubernetes', kubeconfig, owner: 'bench' } },
      registries: { [registry]: { plain_http: true } },
      projects: [{ name: 'shop', location: 'shop.git' }],
    };
    writeFileSync(config, JSON.stringify(settings));
    this.#bench.git(folder, ['init', '--quiet', '--bare', '--initial-branch=main', origin]);
    this.#bench.git(copy, ['init', '--quiet', '--initial-branch=main']);
    this.#bench.git(copy, ['add', '--all']);
    this.#bench.git(copy, ['commit', '--quiet', '--message', 'shop']);
    this.#bench.git(copy, ['push', '--quiet', origin, 'main']);
    this.#commit = this.#bench.git(copy, ['rev-parse', 'HEAD']);
  }

  /** What ephd rendered lies here. */
  get renderFolder(): string {
    return join(this.#bench.folder, 'data', 'render');
  }

  start(): Promise<RunningEphd> {
    return startEphd(this.#bench, ['--config', this.#bench.config]);
  }

  /** Branches that want environments, from one number up to another. */
  change(verb: 'create' | 'delete', from: number, to: number): void {
    const refs = Array.from({ length: to - from }, (_, index) => `${verb} refs/heads/preview/${from + index} ${this.#commit}\n`);
    this.#bench.git(this.#bench.origin, ['update-ref', '--stdin'], refs.join(''));
  }

  [Symbol.dispose](): void {
    this.#bench[Symbol.dispose]();
  }
}

/** From the metrics of an ephd: how many requests of these verbs it has sent to clusters. */
export const countRequests = async (ephd: RunningEphd, verbs: readonly string[]): Promise<number> => {
  const lines = (await ephd.metrics()).matchAll(/^eph_kube_requests_total\{.*verb="(\w+)".*\} (\d+)$/gm);
  return Array.from(lines).reduce((sum, [, verb = '', count]) => sum + (verbs.includes(verb) ? Number(count) : 0), 0);
};

export const writes: readonly string[] = ['create', 'apply', 'patch', 'update', 'delete'];
