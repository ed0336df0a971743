import type {
  ClusterConfig,
  ConfigurationLayers,
  ConfigurationState,
  ConfigurationView,
  Layer,
  LayerName,
  PlacedConfig,
  PlatformValues,
  Policy,
  ProjectConfig,
  UnusableConfiguration,
  UsableConfiguration,
} from '@eph/contract';
import { type ConfigurationReader, type FileReading, keyOf, type ProjectKey } from './read-configuration.ts';

export interface ConfigurationOptions {
  /** From ephd's own file; below those of the repository in the same layer. */
  readonly documents: readonly PlacedConfig[];
  /** From ephd's own file. */
  readonly policy?: Policy | undefined;
  /** Without a configuration repository there is none. */
  readonly reader?: ConfigurationReader | undefined;
}

/** The configuration of the platform, for each project. */
export class Configuration {
  readonly #options: ConfigurationOptions;
  readonly #kept = new Map<string, Kept>();
  #marks = 0;

  constructor(options: ConfigurationOptions) {
    this.#options = options;
  }

  /** Reads what has changed. Never throws: what could not be read is in the answer. */
  async refresh(signal: AbortSignal): Promise<ConfigurationState> {
    await this.#options.reader?.refresh(signal);
    return this.state;
  }

  /** Calls `wake` soon after something may have changed. */
  watch(wake: () => void, signal: AbortSignal): void {
    this.#options.reader?.watch(wake, signal);
  }

  get state(): ConfigurationState {
    const { reader } = this.#options;
    const { state, faults } = this.#check(reader === undefined ? [] : [reader.cluster]);
    const others = reader === undefined ? [] : [reader.rules, ...reader.projects].flatMap((reading) => reading.faults);
    return {
      // A fault in the file of one project, or in the rules of access, concerns no other.
      state: state === 'current' && others.length > 0 ? 'last-good' : state,
      commit: reader?.head ?? null,
      faults: [...faults, ...others],
    };
  }

  /** What was last read for this project. */
  layersFor(repository: string, project: string): ConfigurationView {
    const key = keyOf({ repository, project });
    const kept = this.#kept.get(key);
    const version = this.#options.reader?.version ?? 0;
    if (kept?.version === version) return kept.view;
    const fresh = this.#compose({ repository, project });
    const isSame = kept !== undefined && areSame(kept.parts, fresh.parts);
    if (!isSame) this.#marks += 1;
    const view = { ...fresh.view, mark: isSame ? kept.view.mark : String(this.#marks) };
    this.#kept.set(key, { version, parts: fresh.parts, view });
    return view;
  }

  #compose(key: ProjectKey): { readonly view: Unmarked; readonly parts: readonly unknown[] } {
    const { documents, policy, reader } = this.#options;
    const readings = reader === undefined ? [] : ([reader.cluster, reader.project(key)] as const);
    const checked = { ...this.#check(readings), commit: reader?.head ?? null };
    const { state, faults } = checked;
    const verdict = [state, ...faults.map((fault) => `${fault.code} ${fault.message}`)];
    if (state === 'missing' || state === 'unreadable') return { view: { ...checked, state }, parts: verdict };
    const known = [...documents, ...readings.flatMap((reading) => (reading.state === 'read' ? (reading.document ?? []) : []))];
    const cluster = known.filter(isForCluster);
    const own = known.filter((document): document is PlacedConfig<ProjectConfig> => isForProject(document, key));
    const platform = mergeAll(cluster.map(({ config }) => config.platform));
    const view = {
      ...checked,
      state,
      layers: composeLayers(cluster, own, platform),
      environment: mergeAll(cluster.map(({ config }) => config.environment)),
      platform,
      policies: [...(policy === undefined ? [] : [policy]), ...cluster.flatMap(toPolicy)],
    };
    const shared = cluster.flatMap(({ config }) => [config.defaults, config.environment, config.platform, config.policy]);
    return { view, parts: [...verdict, ...shared, ...own.map(({ config }) => config.overrides)] };
  }

  #check(readings: readonly FileReading<PlacedConfig<ClusterConfig | ProjectConfig>>[]): Omit<ConfigurationState, 'commit'> {
    const { documents, reader } = this.#options;
    if (reader === undefined) return { state: documents.length === 0 ? 'none' : 'current', faults: [] };
    const { headFault } = reader;
    const faults = [...(headFault === undefined ? [] : [headFault]), ...readings.flatMap((reading) => reading.faults)];
    if (faults.some((fault) => fault.code === 'config.missing')) return { state: 'missing', faults };
    if (readings.some((reading) => reading.state === 'unread')) return { state: 'unreadable', faults };
    return { state: faults.length === 0 ? 'current' : 'last-good', faults };
  }
}

type Unmarked = Omit<UsableConfiguration, 'mark'> | Omit<UnusableConfiguration, 'mark'>;

interface Kept {
  readonly version: number;
  readonly view: ConfigurationView;
  /** The parts the view is made of. Readers keep equal parts, so that comparing them by identity is enough. */
  readonly parts: readonly unknown[];
}

const areSame = (before: readonly unknown[], now: readonly unknown[]): boolean =>
  before.length === now.length && before.every((part, index) => part === now[index]);

const isForCluster = (document: PlacedConfig): document is PlacedConfig<ClusterConfig> => document.config.type === 'cluster';

/** A document that leaves its repository out was found by its path. */
const isForProject = ({ config }: PlacedConfig, { repository, project }: ProjectKey): boolean =>
  config.type === 'project' && config.project === project && (config.repository ?? repository) === repository;

const nothing: readonly Layer[] = [];

const composeLayers = (
  cluster: readonly PlacedConfig<ClusterConfig>[],
  own: readonly PlacedConfig<ProjectConfig>[],
  { outputs = {} }: PlatformValues,
): ConfigurationLayers => {
  const defaults = new Map<string, Layer[]>();
  for (const document of cluster) addLayers(defaults, 'cluster', document, 'defaults', document.config.defaults);
  const overrides = new Map<string, Layer[]>();
  for (const document of own) addLayers(overrides, 'override', document, 'overrides', document.config.overrides);
  return {
    defaultsOf: (kind) => defaults.get(kind) ?? nothing,
    overridesOf: (component) => overrides.get(component) ?? nothing,
    overridden: [...overrides.keys()],
    platform: { outputs },
  };
};

const addLayers = (
  layers: Map<string, Layer[]>,
  layer: LayerName,
  document: PlacedConfig,
  section: string,
  parts: { readonly [key: string]: Layer['values'] },
): void => {
  for (const [key, values] of Object.entries(parts)) {
    const place: Layer['source']['place'] = (path) => findPlace(document, [section, key, ...path]);
    const found = layers.get(key) ?? [];
    layers.set(key, [...found, { source: { layer, file: document.file, commit: document.commit, place }, values }]);
  }
};

const findPlace = ({ config, places, at }: PlacedConfig, path: readonly string[]): ReturnType<Layer['source']['place']> => {
  const whole = [...at, ...config.payload, ...path];
  const found = places.at(whole);
  return found === undefined ? undefined : { path: whole.join('.'), line: found.line, column: found.column };
};

const toPolicy = (document: PlacedConfig<ClusterConfig>): readonly Policy[] => {
  const { config, file, commit, places, at } = document;
  if (config.policy === undefined) return [];
  const placeOf: Policy['placeOf'] = (path) => places.at([...at, ...config.payload, 'policy', ...path]);
  return [{ limits: config.policy, setBy: file, placeOf, commit }];
};

/** What the upper ones leave out comes from the lower ones. */
const mergeAll = <T extends object>([lowest, ...above]: readonly T[]): Partial<T> =>
  above.reduce<Partial<T>>((low, high) => mergeMaps(low, high), lowest ?? {});

const mergeMaps = <T extends object>(low: T, high: T): T => {
  const merged = new Map<string, unknown>(Object.entries(low));
  for (const [key, value] of Object.entries(high)) {
    const below = merged.get(key);
    merged.set(key, isMap(below) && isMap(value) ? mergeMaps(below, value) : value);
  }
  return Object.fromEntries(merged) as T;
};

const isMap = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);
