import type { JsonValue } from './environment.ts';

export type JsonMap = { readonly [key: string]: JsonValue };

/** Bottom up: each wins over those before it. */
export const layerNames = ['default', 'cluster', 'developer', 'override'] as const;
export type LayerName = (typeof layerNames)[number];

export interface ValuePlace {
  /** The path in the file, such as `data.overrides.web.replicas`. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

export interface LayerSource {
  readonly layer: LayerName;
  /** Null for built-in defaults. */
  readonly file: string | null;
  /** Null where the file is not read from Git. */
  readonly commit: string | null;
  /** Where the value at this path of the component is in the file. Asked only to explain, so it may be slow. */
  place(path: readonly string[]): ValuePlace | undefined;
}

/** Values from one place. They never change, and are the same object for as long as they are equal, where that can be known. */
export interface Layer {
  readonly source: LayerSource;
  readonly values: JsonMap;
}

/** The configuration of the platform for components. Several layers of one name come bottom up. */
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

export const noConfiguration: ConfigurationLayers = {
  defaultsOf: () => [],
  overridesOf: () => [],
  overridden: [],
  platform: { outputs: {} },
};
