import type { JsonValue } from './environment.ts';

export type JsonMap = { readonly [key: string]: JsonValue };

/** Bottom up: what a layer says wins over the layers before it. */
export const layerNames = ['default', 'cluster', 'developer', 'override'] as const;
export type LayerName = (typeof layerNames)[number];

/** Where a value stands. */
export interface ValuePlace {
  /** The path in the file, such as `data.overrides.web.replicas`. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** Where the values of a layer come from. */
export interface LayerSource {
  readonly layer: LayerName;
  /** Null where no file says it, as for built-in defaults. */
  readonly file: string | null;
  /** Null where the file is not read from Git. */
  readonly commit: string | null;
  /** Where the value at this path of the component stands in the file. Asked only to explain, so it may take its time. */
  place(path: readonly string[]): ValuePlace | undefined;
}

/**
 * What one place says about a component. `values` are never changed once made, and equal values are the same object wherever their
 * maker can tell: the same object means that nothing was changed, and is not looked at again.
 */
export interface Layer {
  readonly source: LayerSource;
  readonly values: JsonMap;
}

/** What the platform says about components, over all and one by one. Several layers of one name come bottom up. */
export interface ConfigurationLayers {
  /** Cluster layers for every component of a kind, such as `Deployment`. */
  defaultsOf(kind: string): readonly Layer[];
  /** Override layers for one component, by its name. */
  overridesOf(component: string): readonly Layer[];
  /** Components that overrides are for. */
  readonly overridden: readonly string[];
  readonly platform: {
    /** What the namespace `platform` publishes, per component. */
    readonly outputs: { readonly [component: string]: { readonly [key: string]: string } };
  };
}

/** Where nobody configured anything. */
export const noConfiguration: ConfigurationLayers = {
  defaultsOf: () => [],
  overridesOf: () => [],
  overridden: [],
  platform: { outputs: {} },
};
