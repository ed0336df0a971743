import type { z } from 'zod';
import type { JsonMap } from '../layers.ts';

type Path = readonly (string | number)[];

/**
 * Which keys this version acts on. `true`: acted on. `limited`: only compared with the limits of the server. A list: acted on with these
 * values. A map: look further; `*` is every entry of a list or map. What is not named is not available yet.
 */
export type Available = true | 'limited' | readonly (string | boolean)[] | { readonly [key: string]: Available };

/** One key at the top of `eph.yaml`, with everything that Eph has to know about it. */
export interface Section<Name extends string = string, S extends z.ZodType = z.ZodType> {
  readonly name: Name;
  readonly schema: S;
  /** Absent while nothing of it is. */
  readonly available?: Available;
  /** Numbers and truth values below these paths of the section keep their written text. */
  readonly verbatim?: readonly (readonly string[])[];
  /** Keys without a value at these paths of the section are as good as left out: what a developer leaves open, the platform decides. */
  readonly open?: readonly (readonly string[])[];
  /** The type of the providers that make its components; absent while there is none. */
  readonly provider?: string;
  /** One of the sections among which `provider` and `providers` choose who makes the environment. Its name is the type to choose. */
  readonly choice?: true;
  components?(value: z.output<S>): readonly Omit<SectionComponent, 'section'>[];
}

/** A component as `eph.yaml` describes it. */
export interface SectionComponent {
  readonly section: Section;
  readonly name: string;
  readonly kind: ComponentKind;
  /** In the words of its kind. */
  readonly values: JsonMap;
  /** Where its values are in the file. */
  readonly path: Path;
  /** The image that the file names for it; without one it runs what its commit holds. */
  readonly artifact?: string;
  /** Components that must be ready first. References imply this. */
  readonly needs: readonly string[];
  /** The gateway sends the environment's traffic here. */
  readonly entry: boolean;
}

/** What the values of components can be, and what of them a provider is given. */
export interface ComponentKind {
  /** What configuration calls it, such as `Deployment`. */
  readonly name: string;
  /** Of the values after all layers. Without it they may be anything. */
  readonly schema?: z.ZodType;
  /** The bottom layer. */
  readonly builtIn?: JsonMap;
  /** `environment.env` and `environment.resources` hold for it, too. */
  readonly common?: true;
  /** Maps of which only one of these keys can hold: that of the highest layer. */
  readonly alternatives?: { readonly [key: string]: readonly string[] };
  /** Keys that the provider acts on; without it, all. Others are merged and shown, and change no revision. */
  readonly used?: readonly string[];
  /** The values as the provider takes them. Variables are put over its `env`. */
  toProviderValues?(values: JsonMap): JsonMap;
}

export const section = <const Name extends string, S extends z.ZodType>(one: Section<Name, S>): Section<Name, S> => one;
