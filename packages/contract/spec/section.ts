import type { z } from 'zod';
import type { JsonMap, LayerSource } from '../layers.ts';
import type { ProviderObjects, RenderedObjects, ResolvedValues } from './rendered-objects.ts';

/**
 * Which keys this version acts on. `true`: acted on. `limited`: only compared with the limits of the server. A list: acted on with these
 * values. A map: look further; `*` is every other key or entry. What is not named is not available yet.
 */
export type Available = true | 'limited' | readonly (string | boolean)[] | { readonly [key: string]: Available };

/** One key at the top of `eph.yaml`, with everything that Eph has to know about it. */
export interface Section<Name extends string = string, S extends z.ZodType = z.ZodType> {
  readonly name: Name;
  readonly schema: S;
  readonly available?: Available;
  /** In place of `available` where the file has another section, because it changes something only for components of that. */
  readonly beside?: { readonly section: string; readonly available: Available };
  /** Numbers and truth values below these paths of the section, such as `services.*.env`, keep their written text. */
  readonly verbatim?: readonly string[];
  /** Keys without a value below these paths are as good as left out: what a developer leaves open, the platform decides. */
  readonly open?: readonly string[];
  /** The type of the providers that make its components; absent while there is none. */
  readonly provider?: string;
  /** One of the sections among which `provider` and `providers` choose. Its name is the type of its providers. */
  readonly choice?: true;
  /** It names files of the commit, in which a renderer finds components of these kinds, by the name of the kind. */
  readonly rendered?: { readonly [kind: string]: ComponentKind };
  /** With paths inside the section. */
  components?(value: z.output<S>): readonly Omit<SectionComponent, 'section'>[];
}

/** A component as `eph.yaml` describes it. */
export interface SectionComponent {
  readonly section: Section;
  readonly name: string;
  readonly kind: ComponentKind;
  readonly values: JsonMap;
  /** Where its values are in the file. */
  readonly path: readonly (string | number)[];
  /** It runs files of its commit, so every commit is a new version of it. */
  readonly tree?: true;
  /** Components that must be ready first. References imply this. */
  readonly needs?: readonly string[];
  /** The gateway sends the environment's traffic here. */
  readonly entry?: boolean;
  /** No component of its own: the others of its section are given its values, and run after it. */
  readonly preparation?: true;
  /** Where its values are, if not in `eph.yaml`. */
  readonly origin?: Pick<LayerSource, 'file' | 'place'>;
  /** For `toObjects`. */
  readonly rendered?: RenderedObjects;
}

/** What the values of components can be, and what of them a provider is given. */
export interface ComponentKind {
  /** What configuration calls it, such as `Deployment`. */
  readonly name: string;
  /** Of the values after all layers. Without it they may be anything. */
  readonly schema?: z.ZodType;
  /** The bottom layer. */
  readonly builtIn?: JsonMap;
  /** What it was given is lost when it is removed: nobody removes it to make it again without naming it. */
  readonly holdsData?: true;
  /** It takes `environment.env` and `environment.resources`. */
  readonly common?: true;
  /** Keys of which only one can hold, by the map they are in: that of the highest layer. */
  readonly alternatives?: { readonly [map: string]: readonly string[] };
  /** Keys that the provider acts on; without it, all. Others are merged and shown, and change no revision. */
  readonly used?: readonly string[];
  /** With which secrets of their provider the components of its section fetch images. */
  pullSecrets?(values: JsonMap): readonly string[];
  /** The values as the provider takes them. Variables replace `env`. */
  toProviderValues?(values: JsonMap): JsonMap;
  /** In its place, of what was rendered: with everything that is known of the component. */
  toObjects?(resolved: ResolvedValues): ProviderObjects;
  /** Why an update interrupts a component that was given these values, as part of a sentence. `claims` are those of its environment. */
  interruption?(values: JsonMap, claims: readonly JsonMap[]): string | undefined;
}

export const section = <const Name extends string, S extends z.ZodType>(one: Section<Name, S>): Section<Name, S> => one;
