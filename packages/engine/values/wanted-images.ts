import {
  asList,
  asMap,
  at,
  type Failure,
  failure,
  findMainContainer,
  type ImageReference,
  isWorkload,
  type JsonMap,
  parseImageReference,
  parseTemplateText,
  podTemplatePath,
  printFault,
  type RenderedTag,
  resolveVariables,
  type ServerVariables,
  type Spec,
  type TemplateValues,
  takeSlice,
  toFailure,
  type WantedImage,
} from '@eph/contract';
import type { SpecFile } from './component-layers.ts';
import { isMap } from './layers.ts';
import { blame, layerOf, type MergedComponent } from './merged-component.ts';
import { instead } from './references.ts';
import { missingVariables, renderTemplate } from './templates.ts';

type Entry = NonNullable<Spec['environment']['images']>[number];

export interface ImageInput {
  readonly file: SpecFile;
  readonly values: TemplateValues;
  readonly variables: ServerVariables;
  /** Of the provider that makes the component. */
  readonly platform: string | undefined;
}

/** An image by the place that names it: `image`, or `containers.<name>.image`. */
export interface ImageSlot {
  readonly slot: string;
  readonly path: readonly string[];
  readonly text: string;
}

/** A component that was rendered may have several containers. */
export const imageSlots = ({ image, containers }: JsonMap): readonly ImageSlot[] => [
  ...(typeof image === 'string' ? [{ slot: 'image', path: ['image'], text: image }] : []),
  ...Object.entries(isMap(containers) ? containers : {}).flatMap(([name, container]) => {
    const text = isMap(container) ? container['image'] : undefined;
    const path = ['containers', name, 'image'];
    return typeof text === 'string' ? [{ slot: path.join('.'), path, text }] : [];
  }),
];

/** The images that a component names, or what is wrong about a name. */
export const findWantedImages = (
  component: MergedComponent,
  input: ImageInput,
): readonly { readonly slot: string; readonly image: WantedImage | Failure }[] =>
  imageSlots(component.values).map((one) => ({ slot: one.slot, image: findWantedImage(component, one, input) }));

const findWantedImage = (component: MergedComponent, slot: ImageSlot, input: ImageInput): WantedImage | Failure => {
  const entries = input.file.spec.environment.images ?? [];
  const index = findEntry(component, slot, input);
  const entry = entries[index];
  if (entry !== undefined) return renderEntry(entry, index, input, entries.length === 1);
  const { text: name, path } = slot;
  const isRendered = component.declared.rendered !== undefined;
  const parsed = parseImageReference(name);
  const platform = input.platform === undefined ? {} : { platform: input.platform };
  const replaced = isRendered && parsed !== undefined ? findReplacement(name, parsed, input) : undefined;
  if (replaced !== undefined) return { ...replaced, ...platform };
  // As Kubernetes means it.
  const fixed = parsed?.digest ?? parsed?.tag ?? (isRendered ? 'latest' : undefined);
  if (parsed !== undefined && fixed !== undefined) return { ...plain, name, repository: parsed.repository, fixed, ...platform };
  const layer = layerOf(component, path);
  const names = entries.map((one) => one.name);
  const hint = names.length === 0 ? '' : `; ${instead(name, names)}`;
  const what = `${JSON.stringify(name)} is neither an entry of environment.images nor an image with a tag or a SHA-256 digest${hint}`;
  return layer === undefined ? failure('spec.invalid', what) : blame(layer, path, what);
};

/**
 * The entry of `environment.images` with this name. A manifest may also name its repository, or call the container so; what Eph's own
 * files say is never read like this.
 */
export const findEntry = (component: MergedComponent, { text, path }: ImageSlot, { file, values }: EntryInput): number => {
  const entries = file.spec.environment.images ?? [];
  const named = entries.findIndex(({ name }) => name === text);
  const { rendered, origin } = component.declared;
  if (named !== -1 || rendered === undefined || layerOf(component, path)?.source.place !== origin?.place) return named;
  const repository = parseImageReference(text)?.repository;
  const same = entries.findIndex((one) => repository !== undefined && repositoryOf(one.repository, values) === repository);
  return same === -1 ? entries.findIndex(({ name }) => name === containerOf(component, path)) : same;
};

type EntryInput = Pick<ImageInput, 'file' | 'values'>;

const repositoryOf = (template: string, values: TemplateValues): string | undefined =>
  missingVariables(template, values).length > 0 ? undefined : renderRepository(template, { values });

const containerOf = ({ declared: { name, rendered } }: MergedComponent, path: readonly string[]): string | undefined => {
  if (path.length > 1) return path[1];
  const workload = rendered?.objects[0]?.object ?? {};
  const { kind } = workload;
  if (!isWorkload(kind)) return undefined;
  const containers = asList(at(workload, [...podTemplatePath(kind), 'spec', 'containers']));
  const own = asMap(containers[findMainContainer(containers, name)])['name'];
  return typeof own === 'string' ? own : undefined;
};

/** What `kubernetes.images` puts in its place. */
const findReplacement = (name: string, parsed: ImageReference, { file, values }: ImageInput): WantedImage | undefined => {
  const untagged = name.slice(0, name.length - (/(:\w[\w.-]*)?(@.*)?$/.exec(name)?.[0].length ?? 0));
  const entry = file.spec.kubernetes?.images?.find((one) => one.name === untagged || one.name === parsed.repository);
  if (entry === undefined) return undefined;
  const { newName, newTag } = entry;
  const repository = newName === undefined ? parsed.repository : renderRepository(newName, { values });
  const isTemplate = newTag?.includes('{') === true;
  return {
    ...plain,
    name,
    repository,
    ...(isTemplate
      ? { tag: renderTag('newTag', newTag ?? '', values) }
      : { fixed: newTag ?? parsed.digest ?? parsed.tag ?? 'latest' }),
  };
};

const plain = { whenMissing: 'fail', requiredLabels: {}, followsTag: false, isOnly: false } as const;

const renderEntry = (entry: Entry, index: number, input: ImageInput, isOnly: boolean): WantedImage | Failure => {
  const path = (key: string): readonly (string | number)[] => ['environment', 'images', index, key];
  try {
    const platform = entry.platform ?? input.platform;
    const { tag_source, tag_template, tag_pattern, fallback_tag, max_age } = entry;
    return {
      name: entry.name,
      isOnly,
      repository: renderRepository(entry.repository, input),
      ...(entry.tag !== undefined && { fixed: entry.tag }),
      ...(tag_source !== undefined && { notes: entry.git_note_ref ?? 'eph-images' }),
      ...(tag_template !== undefined && { tag: renderTag('tag_template', tag_template, input.values) }),
      ...(tag_pattern !== undefined && { pattern: renderTag('tag_pattern', tag_pattern, input.values) }),
      ...(fallback_tag !== undefined && { fallbackTag: fallback_tag }),
      whenMissing: entry.fallback_behavior ?? (fallback_tag === undefined ? 'fail' : 'use-fallback'),
      ...(max_age !== undefined && { maxAgeSeconds: max_age }),
      requiredLabels: renderLabels(entry.required_labels ?? [], input),
      ...(platform !== undefined && { platform }),
      followsTag: entry.follow_tag === true,
    };
  } catch (error) {
    const { code, message } = toFailure(error);
    const { places } = input.file;
    const place = places.at(path('repository')) ?? { line: 1, column: 1 };
    return failure(code, printFault({ file: places.file, ...place, path: `environment.images.${index}`, message }));
  }
};

const renderRepository = (template: string, { values }: Pick<ImageInput, 'values'>): string => {
  const rendered = renderTemplate(template, values, 'image-name');
  return parseImageReference(rendered)?.repository ?? rendered;
};

const longestTag = 128;

/** A source may lack what a template puts in: then only this way of looking is closed. */
const renderTag = (key: 'tag_template' | 'tag_pattern' | 'newTag', template: string, values: TemplateValues): RenderedTag => {
  try {
    const text = renderTemplate(template, values, key === 'tag_pattern' ? 'tag-pattern' : 'image-tag');
    if (lengthOf(template, values) > longestTag) return { fault: `${key} makes more than ${longestTag} characters` };
    return { text };
  } catch (error) {
    return { fault: `${key}: ${toFailure(error).message}` };
  }
};

/** Of the text before it is shortened: no build has pushed the shortened one. */
const lengthOf = (template: string, values: TemplateValues): number => {
  const parsed = parseTemplateText(template, 'braces');
  if (!parsed.ok) return 0;
  const lengths = parsed.parts.map((part) => {
    if (typeof part === 'string') return part.length;
    const all: { readonly [name: string]: string | undefined } = values;
    return takeSlice(all[part.name] ?? '', part.slice).length;
  });
  return lengths.reduce((sum, length) => sum + length, 0);
};

const renderLabels = (templates: readonly string[], { values, variables }: ImageInput): WantedImage['requiredLabels'] =>
  Object.fromEntries(
    templates.map((template) => {
      const { text } = resolveVariables(template, variables, values, 'text');
      const at = text.indexOf('=');
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
