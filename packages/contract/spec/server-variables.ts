import { EphError } from '../errors.ts';
import { type Placeholder, parseTemplateText, type Slice, showTemplate, takeSlice } from './template-text.ts';
import { isServerVariable, isTemplateVariable, syntaxOf, type TemplateValues } from './templates.ts';

/** What the operator lets the files of one project use. Nothing else of ephd's surroundings can be reached from a file. */
export type ServerVariables = {
  readonly [name: string]: { readonly value: string; readonly secret: boolean };
};

/** Where a secret goes in. */
export interface SecretPart {
  readonly secret: string;
  readonly slice?: Slice;
}

export interface ResolvedText {
  readonly text: string;
  /** A secret went in: the text is shown to nobody. */
  readonly secret: boolean;
  /** The text with the names of secrets instead of the secrets: this may be written down. */
  readonly parts: readonly (string | SecretPart)[];
}

/** The variables of the server that a text names, each once. None when the text is malformed: then nothing can be resolved. */
export const findVariables = (text: string): readonly string[] => {
  if (!text.includes('${')) return [];
  const parsed = parseTemplateText(text, 'dollar');
  const names = parsed.ok ? parsed.parts.filter((part) => typeof part !== 'string' && isServerVariable(part)) : [];
  return [...new Set(names.map((one) => (one as Placeholder).name))];
};

/**
 * Puts in variables of the server (`${NAME}`) and of the environment (`${environment_url}`; for a command also `{environment_url}`).
 * A default counts where there is no value or an empty one, as in a shell. Throws `EphError` for a variable that has neither.
 */
export const resolveVariables = (
  text: string,
  server: ServerVariables,
  template: TemplateValues,
  target: 'value' | 'text' = 'value',
): ResolvedText => {
  if (!text.includes(target === 'value' ? '${' : '{')) return { text, secret: false, parts: [text] };
  const parsed = parseTemplateText(text, syntaxOf(target));
  if (!parsed.ok) throw new EphError('spec.invalid', parsed.fault);
  const secrets: { [index: number]: SecretPart } = {};
  const resolved = parsed.parts.map((part, index) => {
    if (typeof part === 'string') return part;
    const found = isServerVariable(part) ? readServer(part, server) : { value: readTemplate(part, template), secret: false };
    if (found?.value !== undefined && (found.value !== '' || part.fallback === undefined)) {
      if (found.secret) secrets[index] = { secret: part.name, ...(part.slice === undefined ? {} : { slice: part.slice }) };
      return takeSlice(found.value, part.slice);
    }
    if (part.fallback !== undefined) return part.fallback;
    throw new EphError('spec.invalid', isServerVariable(part) ? describeUnset(part, server) : describeMissing(part, template));
  });
  return {
    text: resolved.join(''),
    secret: Object.keys(secrets).length > 0,
    parts: resolved.map((one, index) => secrets[index] ?? one),
  };
};

/** Puts the secrets in, at the moment they are used. `read` gives what a secret is now. */
export const fillInSecrets = (parts: ResolvedText['parts'], read: (secret: string) => string | undefined): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = read(part.secret);
      if (value !== undefined) return takeSlice(value, part.slice);
      throw new EphError(
        'component.refused',
        `the secret \${${part.secret}} is not set any more; ask the operator of ephd for it`,
      );
    })
    .join('');

const readServer = ({ name }: Placeholder, server: ServerVariables): ServerVariables[string] | undefined =>
  Object.hasOwn(server, name) ? server[name] : undefined;

const readTemplate = ({ name }: Placeholder, template: TemplateValues): string | undefined =>
  isTemplateVariable(name) && Object.hasOwn(template, name) ? template[name] : undefined;

const describeUnset = ({ name, written }: Placeholder, server: ServerVariables): string => {
  const names = Object.keys(server).toSorted();
  const choice =
    names.length === 0 ? 'the operator has set none for this project' : `it has ${names.map((one) => `\${${one}}`).join(', ')}`;
  return [
    `${showTemplate(written)} is not a variable that this project may use: ${choice}`,
    `give a default with \${${showTemplate(name)}:-default}, or write ${showTemplate(`$${written}`)} for the text itself`,
  ].join('; ');
};

/** A variable that Eph knows and this source does not have, or one that nobody knows. */
export const describeMissing = ({ name, written }: Placeholder, values: TemplateValues): string => {
  const { ref_type: type = 'source', ref_name: ref } = values;
  const source = ref === undefined ? `this ${type}` : `${type} ${JSON.stringify(showTemplate(ref))}`;
  const dress = (one: string): string => (written.startsWith('$') ? `\${${one}}` : `{${one}}`);
  const what = isTemplateVariable(name) ? `is something that ${source} does not have` : 'is unknown';
  const has = Object.entries(values).filter(([, value]) => value !== undefined);
  return `${showTemplate(written)} ${what}; allowed: ${has.map(([one]) => dress(one)).join(', ')}`;
};
