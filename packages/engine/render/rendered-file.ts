import { type Failure, failure, type ParsedSpec, printFault, type Section, type SectionComponent } from '@eph/contract';
import type { RenderedComponent, Rendering } from './renderer.ts';

type SoundSpec = ParsedSpec & { readonly ok: true };

export type RenderedFile =
  | { readonly state: 'refused'; readonly faults: readonly Failure[] }
  | { readonly state: 'rendered'; readonly parsed: SoundSpec; readonly notices: readonly string[] };

/** Joins a file and what was rendered for it. The same two give the same file, for which values are then computed once. */
export class RenderedFiles {
  readonly #known = new WeakMap<Rendering, WeakMap<SoundSpec, RenderedFile>>();

  join(parsed: SoundSpec, section: Section, rendering: Rendering): RenderedFile {
    const byFile = this.#known.get(rendering) ?? new WeakMap<SoundSpec, RenderedFile>();
    this.#known.set(rendering, byFile);
    const known = byFile.get(parsed) ?? joinFile(parsed, section, rendering);
    byFile.set(parsed, known);
    return known;
  }
}

const joinFile = (parsed: SoundSpec, section: Section, rendering: Rendering): RenderedFile => {
  if (rendering.state === 'refused') return rendering;
  const rendered = rendering.components.flatMap((one) => toSectionComponent(section, one));
  const faults = findSharedNames(parsed, rendered);
  if (faults.length > 0) return { state: 'refused', faults };
  const { notices } = rendering;
  return { state: 'rendered', parsed: { ...parsed, components: [...parsed.components, ...rendered] }, notices };
};

const toSectionComponent = (section: Section, component: RenderedComponent): readonly SectionComponent[] => {
  const { name, kind: kindName, values, needs, places, objects, entry, hook } = component;
  const kind = section.rendered?.[kindName];
  const file = objects[0]?.file ?? null;
  if (kind === undefined) return [];
  return [
    {
      section,
      name,
      kind,
      values,
      path: [section.name],
      needs,
      ...(entry && { entry: true }),
      rendered: { objects, ...(entry && { entry }), ...(hook && { hook }) },
      ...(places && { origin: originOf(file, objects[0]?.line ?? null, places) }),
    },
  ];
};

const originOf = (
  file: string | null,
  line: number | null,
  places: NonNullable<RenderedComponent['places']>,
): NonNullable<SectionComponent['origin']> => ({
  file,
  place(path) {
    const [at, column] = places[path.join('.')] ?? [];
    if (at !== undefined && column !== undefined) return { path: path.join('.'), line: at, column };
    return path.length === 0 && line !== null ? { path: '', line, column: 1 } : undefined;
  },
});

/** A reference means one component. */
const findSharedNames = ({ components, places }: SoundSpec, rendered: readonly SectionComponent[]): readonly Failure[] =>
  rendered.flatMap(({ name, section, origin }) => {
    const other = components.find((one) => one.name === name && !(one.section.choice === true && section.choice === true));
    if (other === undefined) return [];
    const place = places.at(other.path) ?? { line: 1, column: 1 };
    const message = `a workload in ${origin?.file ?? section.name} is called ${name}, too; rename one of them`;
    return [failure('spec.invalid', printFault({ file: places.file, ...place, path: other.path.join('.'), message }))];
  });
