import { EphError } from '../errors.ts';
import { type Placeholder, parseTemplateText, type Slice, showTemplate, takeSlice } from './template-text.ts';
import { isServerVariable, isTemplateVariable, syntaxOf, type TemplateValues } from './templates.ts';

/** What the operator lets the files of one project use. Nothing else of ephd's surroundings can be reached from a file. */
export type ServerVariables = {
  readonly [name: string]: { readonly value: string; readonly secret: boolean };
};

/** What goes in only when a component is started: a secret, or the URL of its environment, which may change without it. */
export type LatePart = ({ readonly secret: string } | { readonly url: true }) & { readonly slice?: Slice };

export interface ResolvedText {
  readonly text: string;
  /** A secret went in: the text is shown to nobody. */
  readonly secret: boolean;
  /** The text without what goes in only at a start: this may be written down. */
  readonly parts: readonly (string | LatePart)[];
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
  const late: { [index: number]: LatePart } = {};
  let secret = false;
  const resolved = parsed.parts.map((part, index) => {
    if (typeof part === 'string') return part;
    const found = isServerVariable(part) ? readServer(part, server) : { value: readTemplate(part, template), secret: false };
    if (found?.value !== undefined && (found.value !== '' || part.fallback === undefined)) {
      const slice = part.slice === undefined ? {} : { slice: part.slice };
      if (found.secret) late[index] = { secret: part.name, ...slice };
      else if (part.name === 'environment_url') late[index] = { url: true, ...slice };
      secret ||= found.secret;
      return takeSlice(found.value, part.slice);
    }
    if (part.fallback !== undefined) return part.fallback;
    throw new EphError('spec.invalid', isServerVariable(part) ? describeUnset(part, server) : describeMissing(part, template));
  });
  return { text: resolved.join(''), secret, parts: resolved.map((one, index) => late[index] ?? one) };
};

/** The whole text, when it is used: with what the secrets and the URL are now. */
export const fillInParts = (
  parts: ResolvedText['parts'],
  now: { readonly url: string; readonly secretOf: (name: string) => string | undefined },
): string =>
  parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = 'secret' in part ? now.secretOf(part.secret) : now.url;
      if (value !== undefined) return takeSlice(value, part.slice);
      const name = 'secret' in part ? `\${${part.secret}}` : '';
      throw new EphError('component.refused', `the secret ${name} is not set any more; ask the operator of ephd for it`);
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
