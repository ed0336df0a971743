import {
  type Failure,
  failure,
  parseImageReference,
  parseTemplateText,
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
import { blame, layerOf, type MergedComponent } from './merged-component.ts';
import { instead } from './references.ts';
import { renderTemplate } from './templates.ts';

type Entry = NonNullable<Spec['environment']['images']>[number];

export interface ImageInput {
  readonly file: SpecFile;
  readonly values: TemplateValues;
  readonly variables: ServerVariables;
  /** Of the provider that makes the component. */
  readonly platform: string | undefined;
}

/** The image that a component names, or what is wrong about the name; undefined where it names none. */
export const findWantedImage = (component: MergedComponent, input: ImageInput): WantedImage | Failure | undefined => {
  const { image: name } = component.values;
  if (typeof name !== 'string') return undefined;
  const entries = input.file.spec.environment.images ?? [];
  const index = entries.findIndex((entry) => entry.name === name);
  const entry = entries[index];
  if (entry !== undefined) return renderEntry(entry, index, input, entries.length === 1);
  const parsed = parseImageReference(name);
  const fixed = parsed?.digest ?? parsed?.tag;
  if (parsed !== undefined && fixed !== undefined)
    return { ...plain, name, repository: parsed.repository, fixed, ...(input.platform && { platform: input.platform }) };
  const layer = layerOf(component, ['image']);
  const names = entries.map((one) => one.name);
  const hint = names.length === 0 ? '' : `; ${instead(name, names)}`;
  const what = `${JSON.stringify(name)} is neither an entry of environment.images nor an image with a tag or a SHA-256 digest${hint}`;
  return layer === undefined ? failure('spec.invalid', what) : blame(layer, ['image'], what);
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

const renderRepository = (template: string, { values }: ImageInput): string => {
  const rendered = renderTemplate(template, values, 'image-name');
  return parseImageReference(rendered)?.repository ?? rendered;
};

const longestTag = 128;

/** A source may lack what a template puts in: then only this way of looking is closed. */
const renderTag = (key: 'tag_template' | 'tag_pattern', template: string, values: TemplateValues): RenderedTag => {
  try {
    const text = renderTemplate(template, values, key === 'tag_template' ? 'image-tag' : 'tag-pattern');
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
