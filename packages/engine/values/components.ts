import { createHash } from 'node:crypto';
import {
  type ComponentName,
  componentName,
  type ErrorCode,
  type Identity,
  type JsonValue,
  type ObservedComponent,
  type ProviderName,
  providerName,
  type ResolvedComponent,
  revision,
  type ServiceSpec,
  type Source,
  type Spec,
} from '@eph/contract';
import { mergeLayers } from './layers.ts';
import { type GraphNode, orderByNeed, parseReference } from './references.ts';

/** What should be true of one component: all of it, or what it still waits for. */
export type Wish =
  | { readonly state: 'resolved'; readonly component: ResolvedComponent }
  | {
      readonly state: 'waiting';
      readonly name: ComponentName;
      readonly provider: ProviderName;
      readonly code: ErrorCode;
      readonly reason: string;
    };

export interface ComponentInput {
  readonly spec: Spec;
  readonly source: Source;
  readonly identity: Identity;
  readonly url: string;
  readonly artifact: string;
  readonly observed: readonly ObservedComponent[];
}

/**
 * Every component of an environment, in the order of need, resolved against what is observed now. Throws `EphError` for a
 * reference that can never resolve; one that cannot resolve yet makes its component wait.
 */
export const computeComponents = (input: ComponentInput): readonly Wish[] => {
  const services = Object.entries(input.spec.process.services);
  const entry = services.find(([, service]) => service.entry === true)?.[0] ?? services[0]?.[0];
  const nodes = services.map(([name, service]) => graphNode(componentName(name), service, input.spec));
  const wishes = new Map<ComponentName, Wish>();
  for (const node of orderByNeed(nodes)) {
    const service = input.spec.process.services[node.name];
    if (service !== undefined) wishes.set(node.name, computeWish(input, node, service, node.name === entry, wishes));
  }
  return [...wishes.values()];
};

const graphNode = (name: ComponentName, service: ServiceSpec, spec: Spec): GraphNode => {
  const needs = new Map<ComponentName, string>();
  for (const needed of service.depends_on ?? []) needs.set(componentName(needed), `depends_on ${needed}`);
  for (const value of Object.values({ ...spec.environment.env, ...service.env })) {
    const reference = parseReference(value);
    if (reference !== undefined) needs.set(reference.component, reference.text);
  }
  return { name, needs };
};

const computeWish = (
  input: ComponentInput,
  node: GraphNode,
  service: ServiceSpec,
  entry: boolean,
  wishes: ReadonlyMap<ComponentName, Wish>,
): Wish => {
  const provider = providerName(input.spec.providers.primary);
  const waiting = (code: ErrorCode, reason: string): Wish => ({ state: 'waiting', name: node.name, provider, code, reason });
  for (const [needed, why] of node.needs) {
    const obstacle = obstacleTo(needed, wishes.get(needed), input.observed);
    if (obstacle !== undefined) return waiting('reference.waiting', `${why}: ${obstacle}`);
  }
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...builtInVariables(input), ...input.spec.environment.env, ...service.env })) {
    const reference = parseReference(value);
    if (reference === undefined) {
      variables[name] = value;
      continue;
    }
    const outputs = input.observed.find((one) => one.name === reference.component)?.outputs ?? {};
    const output = Object.hasOwn(outputs, reference.key) ? outputs[reference.key] : undefined;
    if (output === undefined)
      return waiting('reference.waiting', `${reference.text}: ${reference.component} publishes no such output`);
    variables[name] = output;
  }
  const values = mergeLayers(serviceDefaults, {
    command: service.command,
    directory: service.directory,
    env: variables,
    ready: computeProbe(service),
    readyTimeoutSeconds: service.ready?.timeout,
  });
  const body = {
    name: node.name,
    provider,
    commit: input.source.commit,
    artifact: input.artifact,
    entry,
    dependsOn: [...node.needs.keys()].toSorted(),
    values,
  };
  return { state: 'resolved', component: { ...body, revision: digest(body) } };
};

/** Built-in defaults: the bottom layer of a service's values. */
const serviceDefaults = { env: {}, ready: { kind: 'tcp' }, readyTimeoutSeconds: 60 } as const;

const computeProbe = (service: ServiceSpec): { [key: string]: JsonValue } | undefined => {
  if (service.ready?.http !== undefined) return { kind: 'http', path: service.ready.http };
  if (service.ready?.none === true) return { kind: 'none' };
  return undefined;
};

/** What every component may know about where it runs. */
const builtInVariables = ({ source, identity, url }: ComponentInput): Record<string, string> => ({
  EPH_PROJECT: source.project,
  EPH_ENVIRONMENT: identity.name,
  EPH_URL: url,
  EPH_COMMIT: source.commit,
  EPH_REF: source.ref.name,
});

/**
 * Why a needed component is not there yet. It has to run the version this very commit asks for: otherwise a dependant would first
 * be started against the old version, and again against the new one.
 */
const obstacleTo = (name: ComponentName, wish: Wish | undefined, observed: readonly ObservedComponent[]): string | undefined => {
  if (wish === undefined || wish.state === 'waiting') return `${name} waits itself`;
  const seen = observed.find((one) => one.name === name);
  if (seen?.current?.revision === wish.component.revision) {
    return seen.current.health === 'ready' ? undefined : `${name} is not ready: ${seen.current.message}`;
  }
  return seen?.next?.health === 'failing' ? `${name} does not get ready: ${seen.next.message}` : `${name} is not ready yet`;
};

const digest = (body: JsonValue): ResolvedComponent['revision'] =>
  revision(createHash('sha256').update(canonical(body)).digest('hex').slice(0, 32));

/** JSON with sorted keys, so that the order in a file never changes a revision. */
const canonical = (value: JsonValue): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const entries = Object.entries(value as { readonly [key: string]: JsonValue }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`;
};
