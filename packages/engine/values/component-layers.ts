import type {
  ComponentKind,
  ConfigurationLayers,
  JsonMap,
  JsonValue,
  Layer,
  LayerSource,
  ParsedSpec,
  Places,
  SectionComponent,
  Spec,
  ValuePlace,
} from '@eph/contract';

/** An `eph.yaml` without faults, as far as values are concerned. */
export type SpecFile = Pick<Extract<ParsedSpec, { ok: true }>, 'spec' | 'components' | 'choices' | 'places'>;

export interface ComponentLayers {
  readonly layers: readonly Layer[];
  /** So many of them, from the bottom, are the same for all components of the kind. */
  readonly shared: number;
}

export interface LayerInput {
  readonly places: Places;
  /** Of the project; null where the file is not in Git yet. */
  readonly commit: string | null;
  readonly configuration: ConfigurationLayers;
}

const builtInSource: LayerSource = { layer: 'default', file: null, commit: null, place: () => undefined };

/** The layers of components, bottom up. Values that did not change are the same objects every time. */
export const composeLayers = (
  components: readonly SectionComponent[],
  common: JsonMap,
  { places, commit, configuration }: LayerInput,
): ReadonlyMap<SectionComponent, ComponentLayers> => {
  const written = (
    toPath: (path: readonly string[]) => SectionComponent['path'],
    { file, place }: NonNullable<SectionComponent['origin']> = {
      file: places.file,
      place: (path) => placeIn(places, toPath(path)),
    },
  ): LayerSource => ({ layer: 'developer', file, commit, place });
  const ofAll = { source: written(commonPath), values: common };
  const known = new Map<ComponentKind, readonly Layer[]>();
  const below = (kind: ComponentKind): readonly Layer[] => {
    const layers = known.get(kind) ?? [
      ...(kind.builtIn === undefined ? [] : [{ source: builtInSource, values: kind.builtIn }]),
      ...configuration.defaultsOf(kind.name),
      ...(kind.common === true ? [ofAll] : []),
    ];
    known.set(kind, layers);
    return layers;
  };
  return new Map(
    components.map((component) => {
      const { name, kind, values, path: prefix, origin } = component;
      const own = { source: written((path) => [...prefix, ...path], origin), values };
      const lower = below(kind);
      return [component, { layers: [...lower, own, ...configuration.overridesOf(name)], shared: lower.length }];
    }),
  );
};

const placeIn = (places: Places, path: SectionComponent['path']): ValuePlace | undefined => {
  const place = places.at(path);
  return place === undefined ? undefined : { path: path.join('.'), line: place.line, column: place.column };
};

/** What `environment` gives to every component. */
export const commonValues = ({ env, resources = {} }: Spec['environment']): JsonMap => {
  const requests = gather({ cpu: resources.cpu_request, memory: resources.memory_request });
  const limits = gather({ cpu: resources.cpu_limit, memory: resources.memory_limit });
  return gather({ env, resources: gather({ requests, limits }) }) ?? {};
};

const gather = (all: { readonly [key: string]: JsonValue | undefined }): JsonMap | undefined => {
  const given = Object.entries(all).filter((one): one is [string, JsonValue] => one[1] !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given);
};

export const commonPath = (path: readonly string[]): readonly string[] => {
  const [section, end, resource] = path;
  if (section !== 'resources' || resource === undefined) return ['environment', ...path];
  return ['environment', 'resources', `${resource}_${end === 'requests' ? 'request' : 'limit'}`];
};
