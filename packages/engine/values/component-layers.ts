import {
  type ConfigurationLayers,
  type JsonMap,
  type JsonValue,
  type Layer,
  type LayerSource,
  type Places,
  printDuration,
  type ServiceSpec,
  type Spec,
  type ValuePlace,
} from '@eph/contract';

/** A service is the kind of component that a cluster's defaults call a deployment. */
export const serviceKind = 'Deployment';

/** Every service sees these. Their text stands for values that differ from environment to environment. */
export const builtInVariables = {
  EPH_PROJECT: '${project}',
  EPH_ENVIRONMENT: '${environment_name}',
  EPH_URL: '${environment_url}',
  EPH_COMMIT: '${commit_sha}',
  EPH_REF: '${ref_name}',
} as const;

/** The bottom layer of every service. */
const builtIn: Layer = {
  source: { layer: 'default', file: null, commit: null, place: () => undefined },
  values: { env: builtInVariables, ready: { tcp: true, timeout: '60s' }, replicas: 1 },
};

/** The layers of one component, bottom up. */
export interface ComponentLayers {
  readonly layers: readonly Layer[];
  /** So many of them, from the bottom, are the same for all components. */
  readonly shared: number;
}

export interface LayerInput {
  /** Of `eph.yaml`. */
  readonly places: Places;
  /** Of the project; null where the file is not in Git yet. */
  readonly commit: string | null;
  readonly configuration: ConfigurationLayers;
}

/**
 * The layers of the services of one spec. What the developer says is put into the words of components once, so that layers which
 * did not change can be known by being the same objects.
 */
export class ServiceLayers {
  readonly #common: JsonMap;
  readonly #own: ReadonlyMap<string, JsonMap>;

  constructor({ environment, process }: Spec) {
    this.#common = commonValues(environment);
    this.#own = new Map(Object.entries(process?.services ?? {}).map(([name, service]) => [name, serviceValues(service)]));
  }

  /** By the name of the service, in the order of the file. */
  compose({ places, commit, configuration }: LayerInput): ReadonlyMap<string, ComponentLayers> {
    const written = (toPath: (path: readonly string[]) => readonly string[]): LayerSource => ({
      layer: 'developer',
      file: places.file,
      commit,
      place: (path) => placeIn(places, toPath(path)),
    });
    const common = { source: written(commonPath), values: this.#common };
    const below = [builtIn, ...configuration.defaultsOf(serviceKind), common];
    const composed = new Map<string, ComponentLayers>();
    for (const [name, values] of this.#own) {
      const own = { source: written((path) => ['process', 'services', name, ...path]), values };
      composed.set(name, { layers: [...below, own, ...configuration.overridesOf(name)], shared: below.length });
    }
    return composed;
  }
}

const placeIn = (places: Places, path: readonly string[]): ValuePlace | undefined => {
  const place = places.at(path);
  return place === undefined ? undefined : { path: path.join('.'), line: place.line, column: place.column };
};

/** What `environment` says for every component. */
const commonValues = ({ env, resources = {} }: Spec['environment']): JsonMap => {
  const requests = gather({ cpu: resources.cpu_request, memory: resources.memory_request });
  const limits = gather({ cpu: resources.cpu_limit, memory: resources.memory_limit });
  return gather({ env, resources: gather({ requests, limits }) }) ?? {};
};

/** What is said of all this; undefined for nothing. */
const gather = (all: { readonly [key: string]: JsonValue | undefined }): JsonMap | undefined => {
  const said = Object.entries(all).filter((one): one is [string, JsonValue] => one[1] !== undefined);
  return said.length === 0 ? undefined : Object.fromEntries(said);
};

/** Where `environment` says it. */
const commonPath = (path: readonly string[]): readonly string[] => {
  const [section, end, resource] = path;
  if (section !== 'resources' || resource === undefined) return ['environment', ...path];
  return ['environment', 'resources', `${resource}_${end === 'requests' ? 'request' : 'limit'}`];
};

// The compiler takes optional keys for keys that may hold undefined; parsed values leave them out.
const serviceValues = ({ depends_on: _needs, entry: _entry, ready, ...said }: ServiceSpec): JsonMap =>
  ({ ...said, ...(ready === undefined ? {} : { ready: readyValues(ready) }) }) as JsonMap;

const readyValues = ({ timeout, ...way }: NonNullable<ServiceSpec['ready']>): object => ({
  ...way,
  ...(timeout === undefined ? {} : { timeout: printDuration(timeout) }),
});
