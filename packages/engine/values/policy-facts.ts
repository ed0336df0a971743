import {
  isEphError,
  type JsonMap,
  type JsonValue,
  type Places,
  resolveVariables,
  type ServerVariables,
  type Spec,
  type TemplateValues,
} from '@eph/contract';
import { hostOf } from './allow-lists.ts';
import type { ComponentFacts, PolicyFacts, Stated } from './policy.ts';
import { missingVariables, type NameTarget, renderTemplate } from './templates.ts';

/** A component after all layers. */
export interface MergedComponent {
  readonly name: string;
  readonly kind: string;
  readonly values: JsonMap;
  /** `dev/env.yaml:12`: where the value at this path was given. Asked only when a limit is broken. */
  readonly where: (path: readonly string[]) => string | undefined;
}

export interface PolicyInput {
  readonly spec: Spec;
  /** Of `eph.yaml`. */
  readonly places: Places;
  /** Left out where there is no environment yet: then `eph.yaml` alone speaks for its components. */
  readonly components?: readonly MergedComponent[] | undefined;
  readonly values?: TemplateValues | undefined;
  readonly variables?: ServerVariables | undefined;
  readonly environments?: PolicyFacts['environments'];
}

/**
 * What of an environment a policy can limit. A template whose variables are not known here states nothing: whoever renders it later
 * asks again.
 */
export const policyFactsOf = (input: PolicyInput): PolicyFacts => {
  const { ttl, idle_timeout } = input.spec.environment;
  return {
    ttl: ttl === undefined ? undefined : stated(input, ['environment', 'ttl'], ttl),
    idleTimeout: idle_timeout === undefined ? undefined : stated(input, ['environment', 'idle_timeout'], idle_timeout),
    hooks: hookTimes(input),
    providers: providersOf(input),
    images: imagesOf(input),
    hosts: hostsOf(input),
    endpoints: endpointsOf(input),
    components: componentsOf(input),
    environments: input.environments,
  };
};

type Path = readonly (string | number)[];

const stated = <T>({ places }: PolicyInput, path: Path, value: T, ...otherPaths: readonly Path[]): Stated<T> => ({
  path: path.join('.'),
  value,
  where: () => {
    const place = [path, ...otherPaths].map((one) => places.at(one)).find((one) => one !== undefined);
    return place === undefined ? undefined : `${places.file}:${place.line}`;
  },
});

const hookTimes = (input: PolicyInput): readonly Stated<number>[] =>
  Object.entries(input.spec.hooks ?? {}).flatMap(([phase, hooks = []]) =>
    hooks.flatMap(({ timeout }, index) =>
      timeout === undefined ? [] : [stated(input, ['hooks', phase, index, 'timeout'], timeout)],
    ),
  );

const providersOf = (input: PolicyInput): readonly Stated<string>[] => {
  const { primary, fallback } = input.spec.providers;
  return [
    // Without either key it is the section that says so.
    stated(input, ['providers', 'primary'], primary, ['provider'], [primary]),
    ...(fallback === undefined ? [] : [stated(input, ['providers', 'fallback'], fallback)]),
  ];
};

const imagesOf = (input: PolicyInput): readonly Stated<string>[] => {
  const { environment, kubernetes, services = [] } = input.spec;
  return [
    ...(environment.images ?? []).flatMap(({ repository }, index) =>
      rendered(input, ['environment', 'images', index, 'repository'], repository, 'image-name'),
    ),
    ...(kubernetes?.images ?? []).flatMap(({ newName }, index) =>
      rendered(input, ['kubernetes', 'images', index, 'newName'], newName, 'image-name'),
    ),
    ...services.flatMap((service, index) =>
      service.type === 'internal' ? [stated(input, ['services', index, 'image'], service.image)] : [],
    ),
  ];
};

const hostsOf = (input: PolicyInput): readonly Stated<string>[] => {
  const { subdomain_template, base_domain } = input.spec.environment;
  if (subdomain_template === undefined && base_domain === undefined) return [];
  const { base_domain: platform, ...others } = input.values ?? {};
  const domain = base_domain === undefined ? platform : resolve(input, base_domain)?.text;
  const values = domain === undefined ? others : { ...others, base_domain: domain };
  const path = ['environment', subdomain_template === undefined ? 'base_domain' : 'subdomain_template'];
  return rendered({ ...input, values }, path, subdomain_template ?? '{name}.{base_domain}', 'dns-name');
};

const endpointsOf = (input: PolicyInput): readonly Stated<string>[] =>
  (input.spec.services ?? []).flatMap((service, index): readonly Stated<string>[] => {
    const address = service.type === 'external' ? resolve(input, service.endpoint) : undefined;
    if (address === undefined) return [];
    const shown = address.secret ? 'a secret' : (hostOf(address.text) ?? 'no address with a host');
    return [{ ...stated(input, ['services', index, 'endpoint'], address.text), shown }];
  });

const rendered = (
  input: PolicyInput,
  path: Path,
  template: string | undefined,
  target: NameTarget,
): readonly Stated<string>[] => {
  const { values = {} } = input;
  if (template === undefined || missingVariables(template, values).length > 0) return [];
  return [stated(input, path, renderTemplate(template, values, target))];
};

/** Undefined when a variable is not known here. */
const resolve = ({ variables, values }: PolicyInput, text: string): ReturnType<typeof resolveVariables> | undefined => {
  try {
    return resolveVariables(text, variables ?? {}, values ?? {});
  } catch (error) {
    // Whoever uses the text says what is wrong with it.
    if (isEphError(error)) return undefined;
    throw error;
  }
};

const componentsOf = (input: PolicyInput): readonly ComponentFacts[] => {
  const merged = (input.components ?? []).map(factsOf);
  const known = new Set(merged.map(({ name }) => name));
  const all = [...merged, ...writtenComponents(input).filter(({ name }) => !known.has(name))];
  // Manifests name their components only when they are rendered, and what is said for all of them can be judged before.
  return all.length > 0 ? all : [{ ...written(input, [], 'each component', 'Deployment', {}), kind: undefined }];
};

const factsOf = ({ name, kind, values, where }: MergedComponent): ComponentFacts => {
  const at = <T extends JsonValue>(
    path: readonly string[],
    isRight: (value: JsonValue | undefined) => value is T,
  ): readonly Stated<T>[] => {
    const value = read(values, path);
    return isRight(value) ? [{ path: [name, ...path].join('.'), value, where: () => where(path) }] : [];
  };
  const scaling = read(values, ['autoscaling', 'enabled']) === true ? ['minReplicas', 'maxReplicas'] : [];
  const amounts = (resource: string) => ['requests', 'limits'].flatMap((end) => at(['resources', end, resource], isText));
  return {
    name,
    kind: { path: `the kind of ${name}`, value: kind },
    replicas: [...at(['replicas'], isNumber), ...scaling.flatMap((end) => at(['autoscaling', end], isNumber))],
    cpu: amounts('cpu'),
    memory: amounts('memory'),
  };
};

const read = (values: JsonMap, path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (at, key) =>
      typeof at === 'object' && at !== null && !Array.isArray(at) && Object.hasOwn(at, key) ? (at as JsonMap)[key] : undefined,
    values,
  );

const isNumber = (value: JsonValue | undefined): value is number => typeof value === 'number';
const isText = (value: JsonValue | undefined): value is string => typeof value === 'string';

/** What `eph.yaml` alone says of its components. */
const writtenComponents = (input: PolicyInput): readonly ComponentFacts[] => {
  const { process, database, services = [] } = input.spec;
  const scale = input.spec['docker-compose']?.scale ?? {};
  return [
    ...Object.entries(process?.services ?? {}).map(([name, service]) =>
      written(input, ['process', 'services', name], name, 'Deployment', service),
    ),
    ...Object.entries(scale).map(([name, replicas]) => ({
      ...written(input, ['docker-compose', 'scale', name], name, 'Deployment', {}),
      replicas: [stated(input, ['docker-compose', 'scale', name], replicas)],
    })),
    ...(database?.enabled === false ? [] : (database?.instances ?? [])).map(({ name }, index) =>
      written(input, ['database', 'instances', index], name, 'Database', {}),
    ),
    ...services.flatMap(({ name, type }, index) =>
      type === 'internal' ? [written(input, ['services', index], name, 'Deployment', {})] : [],
    ),
  ];
};

type WrittenService = Pick<NonNullable<Spec['process']>['services'][string], 'replicas' | 'resources'>;

const written = (input: PolicyInput, path: Path, name: string, kind: string, service: WrittenService): ComponentFacts => {
  const shared = input.spec.environment.resources ?? {};
  const amounts = (resource: 'cpu' | 'memory'): readonly Stated<string>[] =>
    (
      [
        ['requests', `${resource}_request`],
        ['limits', `${resource}_limit`],
      ] as const
    ).flatMap(([end, key]): readonly Stated<string>[] => {
      const own = service.resources?.[end]?.[resource];
      if (own !== undefined) return [stated(input, [...path, 'resources', end, resource], own)];
      const common = kind === 'Deployment' ? shared[key] : undefined;
      return common === undefined ? [] : [stated(input, ['environment', 'resources', key], common)];
    });
  return {
    name,
    kind: { ...stated(input, path, kind), path: `the kind of ${name}` },
    replicas: service.replicas === undefined ? [] : [stated(input, [...path, 'replicas'], service.replicas)],
    cpu: amounts('cpu'),
    memory: amounts('memory'),
  };
};
