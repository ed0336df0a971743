import { type CommitSha, EphError, failure, type JsonMap } from '@eph/contract';
import type { RenderedComponent, Renderer, Rendering, RenderRequest } from './renderer.ts';

/** A Deployment as a file of a commit describes it. */
export interface FakeWorkload {
  readonly name: string;
  readonly image?: string;
  /** The images of further containers by their names. */
  readonly sidecars?: { readonly [container: string]: string };
  readonly replicas?: number;
  readonly env?: { readonly [name: string]: string };
  /** Its service gets the traffic of the environment. */
  readonly entry?: true;
}

/** Commits in memory, with the workloads of each, or with files that nobody can understand. */
export class FakeRenderer implements Renderer {
  readonly #commits = new Map<CommitSha, Rendering>();
  /** How often something was rendered. */
  renders = 0;
  /** Why nothing can be rendered. */
  away: EphError | undefined;

  describe(commit: CommitSha, workloads: readonly FakeWorkload[]): void {
    const components = [namespaceComponent, ...workloads.map(toComponent)];
    this.#commits.set(commit, { state: 'rendered', components, notices: [] });
  }

  spoil(commit: CommitSha): void {
    const fault = failure('spec.invalid', 'k8s/web.yaml:3:1: a manifest needs a kind');
    this.#commits.set(commit, { state: 'refused', faults: [fault] });
  }

  render({ commit }: RenderRequest): Promise<Rendering> {
    if (this.away !== undefined) return Promise.reject(this.away);
    const rendering = this.#commits.get(commit);
    if (rendering === undefined) return Promise.reject(new EphError('source.commit_missing', `there is no commit ${commit}`));
    this.renders += 1;
    return Promise.resolve(rendering);
  }
}

const namespaceComponent: RenderedComponent = { name: 'namespace', kind: 'Namespace', values: {}, needs: [], objects: [] };

const toComponent = ({
  name,
  image = 'nginx:1.27',
  sidecars = {},
  replicas,
  env = {},
  entry,
}: FakeWorkload): RenderedComponent => {
  const variables = Object.entries(env).map(([variable, value]) => ({ name: variable, value }));
  const container: JsonMap = { name, image, ...(variables.length > 0 && { env: variables }) };
  const others = Object.entries(sidecars);
  const object: JsonMap = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [container, ...others.map(([own, named]) => ({ name: own, image: named }))] },
      },
    },
  };
  return {
    name,
    kind: 'Deployment',
    values: {
      image,
      ...(others.length > 0 && { containers: Object.fromEntries(others.map(([own, named]) => [own, { image: named }])) }),
      ...(replicas !== undefined && { replicas }),
      ...(variables.length > 0 && { env }),
    },
    needs: ['namespace'],
    objects: [{ object, file: 'k8s/app.yaml', line: 1 }],
    places: { image: [9, 11] },
    ...(entry && { entry: { service: name, port: 80 } }),
  };
};
