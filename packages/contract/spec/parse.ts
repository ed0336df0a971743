import type { z } from 'zod';
import { availableIn, findUnavailable, isGuard } from './availability.ts';
import { type DocumentForm, type Fault, faultLimit, type Notice, type Places, parseDocument } from './document.ts';
import { read } from './rules.ts';
import { choicesIn, type Spec, specSchema, type Trigger } from './schema.ts';
import type { Section, SectionComponent } from './section.ts';
import { triggers as triggersSection } from './sections/triggers.ts';
import { shippedSections } from './sections.ts';

export type ParsedSpec =
  | {
      readonly ok: true;
      readonly spec: Spec;
      /** Of all sections, in their order. */
      readonly components: readonly SectionComponent[];
      /** Its sections among which a provider chooses. */
      readonly choices: readonly string[];
      readonly triggers: readonly Trigger[];
      readonly places: Places;
      /** What the file asks for and this version does not do. */
      readonly notices: readonly Notice[];
      /** The same about protection: without it no environment may be started from the file. */
      readonly guards: readonly Notice[];
    }
  /** Triggers are there if the file has some without faults: then the right environments show the faults of the rest. */
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly triggers?: readonly Trigger[] };

export const specLimitBytes = 256 * 1024;

type SpecForm = DocumentForm<z.ZodType<Spec>>;

/** Made once for a table: a schema costs more than many files. */
const forms = new WeakMap<readonly Section[], SpecForm>();

const createForm = (sections: readonly Section[]): SpecForm => {
  const pathsOf = (key: 'verbatim' | 'open') =>
    sections.flatMap(({ name, [key]: paths = [] }) => paths.map((path) => [name, ...path.split('.')]));
  return {
    schema: specSchema(sections),
    limitBytes: specLimitBytes,
    empty: `the file is empty; it needs version, name and ${sections.find(({ choice }) => choice)?.name}`,
    verbatim: pathsOf('verbatim'),
    open: pathsOf('open'),
    remarks: (raw) =>
      findUnavailable(
        raw,
        availableIn(sections, (name) => read(raw, name) !== undefined),
      ),
  };
};

/** Turns the bytes of an `eph.yaml` into a spec or into every fault in it. Never throws, whatever the bytes are. */
export const parseSpec = (bytes: Uint8Array, file = 'eph.yaml', sections: readonly Section[] = shippedSections): ParsedSpec => {
  const form = forms.get(sections) ?? createForm(sections);
  forms.set(sections, form);
  const parsed = parseDocument(bytes, file, form);
  if (!parsed.ok) {
    const triggers = readTriggers(parsed.raw, parsed.faults);
    return { ok: false, faults: parsed.faults, ...(triggers === undefined ? {} : { triggers }) };
  }
  const { value, notices } = parsed;
  const components = componentsOf(value, sections);
  const faults = findSharedNames(components, parsed.places);
  if (faults.length > 0) return { ok: false, faults, triggers: value.triggers };
  return {
    ok: true,
    spec: value,
    components,
    choices: choicesIn(sections, value),
    triggers: value.triggers,
    places: withShortForms(parsed.places),
    notices: notices.filter((notice) => !isGuard(notice)),
    guards: notices.filter(isGuard),
  };
};

const componentsOf = (spec: { readonly [section: string]: unknown }, sections: readonly Section[]): readonly SectionComponent[] =>
  sections.flatMap((section) => {
    const value = spec[section.name];
    const found = value === undefined ? [] : (section.components?.(value) ?? []);
    return found.map((one) => ({ ...one, section, path: [section.name, ...one.path] }));
  });

/** A reference means one component. Of the sections among which a provider chooses, only one counts. */
const findSharedNames = (components: readonly SectionComponent[], places: Places): readonly Fault[] => {
  const taken = new Map<string, SectionComponent>();
  return components.flatMap((component) => {
    const { name, path, section } = component;
    const other = taken.get(name) ?? component;
    taken.set(name, other);
    if (other === component || (other.section.choice && section.choice)) return [];
    const message = `there is a component ${name} in ${other.section.name} already`;
    return [{ file: places.file, ...(places.at(path) ?? { line: 1, column: 1 }), path: path.join('.'), message }];
  });
};

const readTriggers = (raw: unknown, faults: readonly Fault[]): readonly Trigger[] | undefined => {
  const { triggers } = (raw ?? {}) as { readonly triggers?: unknown };
  // Beyond the limit nobody knows what else is wrong.
  const areDoubtful = faults.length >= faultLimit || faults.some((fault) => fault.path.startsWith('triggers'));
  if (triggers === undefined || areDoubtful) return undefined;
  return triggersSection.schema.safeParse(triggers).data;
};

const shortForms: { readonly [path: string]: readonly string[] } = {
  'providers.primary': ['provider'],
  'environment.name_template': ['environment', 'name'],
  'environment.subdomain_template': ['environment', 'domain'],
  'kubernetes.namespace_template': ['kubernetes', 'namespace'],
};

/** A spec has the long forms; their place is that of the short form in the file. */
const withShortForms = (places: Places): Places => ({
  file: places.file,
  at(path) {
    const short = shortForms[path.join('.')];
    return places.at(path) ?? (short === undefined ? undefined : places.at(short));
  },
});
