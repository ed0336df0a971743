import { findUnavailable, isGuard } from './availability.ts';
import { type DocumentForm, type Fault, faultLimit, type Notice, type Places, parseDocument } from './document.ts';
import { type Spec, specSchema, type Trigger } from './schema.ts';
import { triggers as triggersSchema } from './sections/triggers.ts';

export type ParsedSpec =
  | {
      readonly ok: true;
      readonly spec: Spec;
      readonly triggers: readonly Trigger[];
      readonly places: Places;
      /** What the file asks for and this version does not do. */
      readonly notices: readonly Notice[];
      /** The same about protection: without it no environment may be started from the file. */
      readonly guards: readonly Notice[];
    }
  /**
   * Triggers that the file names and that are sound are known, so that the right environments show the faults. Otherwise they are
   * absent, as they may be misspelt or lost, and nobody can tell whether an environment is wanted.
   */
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly triggers?: readonly Trigger[] };

export const specLimitBytes = 256 * 1024;

const form: DocumentForm<typeof specSchema> = {
  schema: specSchema,
  limitBytes: specLimitBytes,
  empty: 'the file is empty; it needs version, name and process',
  verbatim: [
    ['environment', 'env'],
    ['process', 'services', '*', 'env'],
    ['kubernetes', 'ingress', 'annotations'],
    ['kubernetes', 'secrets', '*', 'data'],
    ['observability', 'metrics', 'annotations'],
  ],
  // What a developer leaves open, the platform decides.
  open: [
    ['environment', 'env'],
    ['environment', 'resources'],
    ['process', 'services', '*'],
  ],
  remarks: findUnavailable,
};

/** Turns the bytes of an `eph.yaml` into a spec or into every fault in it. Never throws, whatever the bytes are. */
export const parseSpec = (bytes: Uint8Array, file = 'eph.yaml'): ParsedSpec => {
  const parsed = parseDocument(bytes, file, form);
  if (!parsed.ok) {
    const triggers = readTriggers(parsed.raw, parsed.faults);
    return { ok: false, faults: parsed.faults, ...(triggers === undefined ? {} : { triggers }) };
  }
  const { value, notices } = parsed;
  return {
    ok: true,
    spec: value,
    triggers: value.triggers,
    places: withShortForms(parsed.places),
    notices: notices.filter((notice) => !isGuard(notice)),
    guards: notices.filter(isGuard),
  };
};

const readTriggers = (raw: unknown, faults: readonly Fault[]): readonly Trigger[] | undefined => {
  const { triggers } = (raw ?? {}) as { readonly triggers?: unknown };
  // Beyond the limit nobody knows what else is wrong.
  const areDoubtful = faults.length >= faultLimit || faults.some((fault) => fault.path.startsWith('triggers'));
  if (triggers === undefined || areDoubtful) return undefined;
  return triggersSchema.safeParse(triggers).data;
};

const shortForms: { readonly [path: string]: readonly string[] } = {
  'providers.primary': ['provider'],
  'environment.name_template': ['environment', 'name'],
  'environment.subdomain_template': ['environment', 'domain'],
  'kubernetes.namespace_template': ['kubernetes', 'namespace'],
};

/** A spec has the long forms; who asks for their place gets that of the short form in the file. */
const withShortForms = (places: Places): Places => ({
  file: places.file,
  at(path) {
    const short = shortForms[path.join('.')];
    return places.at(path) ?? (short === undefined ? undefined : places.at(short));
  },
});
