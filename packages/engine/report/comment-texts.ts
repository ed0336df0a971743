import { parseTemplateText, showTemplate, takeSlice } from '@eph/contract';
import { escapeLine, inlineText, joinEscaped, linkedAddress } from './untrusted-text.ts';

/** The parts of a comment in their default order, with their length: together below the limit, so that none displaces another. */
export const partLimits = {
  headline: 3_000,
  message: 4_000,
  reason: 3_000,
  components: 14_000,
  times: 3_000,
  waits: 6_000,
  notes: 5_000,
  faults: 11_000,
  comeback: 2_000,
  links: 4_000,
} as const;
export type PartName = keyof typeof partLimits;

/** The values that every text can use. */
const valueNames = ['name', 'url', 'phase', 'summary', 'commit', 'comeback', 'started', 'updated', 'expires'] as const;
type ValueName = (typeof valueNames)[number];

/** As plain text and as Markdown; absent if there is no value. */
export type TextValues = { readonly [name in ValueName]?: { readonly plain: string; readonly markdown: string } };

/**
 * The texts of a comment. A project may replace them. They are plain text, not Markdown, so they cannot mention people.
 * `{name}` and the like are filled in, and addresses become links.
 */
export const defaultTexts = {
  /** Each line is a part, or a paragraph of the project. */
  body: `{${Object.keys(partLimits).join('}\n{')}}`,
  headline_pending: 'Pending: {name}',
  headline_progressing: 'Progressing: {name}',
  headline_ready: 'Ready: {name}',
  headline_degraded: 'Degraded: {name}',
  headline_failed: 'Failed: {name}',
  headline_removing: 'Removing: {name}',
  headline_held: 'Held: {name}',
  headline_removed: 'Removed: {name}',
  message_pending: 'Nothing runs yet. It starts automatically.',
  message_progressing: 'Commit {commit} is being prepared. The address answers once it is ready.',
  message_updating: 'Commit {commit} is being prepared. Until it is ready, the previous version answers at {url}.',
  message_ready: 'Commit {commit} answers at {url}.',
  message_degraded: 'A version answers at {url}, but commit {commit} has problems.',
  message_failed: 'Nothing answers for commit {commit}, and retrying will not help: push a fix or correct the configuration.',
  message_removing: 'It is no longer wanted and is being removed.',
  message_held: 'It is no longer wanted. Its removal is held until an operator releases it.',
  message_removed: 'The environment was removed.',
  column_component: 'Component',
  column_status: 'Status',
  column_address: 'Address',
  column_commit: 'Commit',
  column_image: 'Image',
  health_starting: 'starting',
  health_ready: 'ready',
  health_failing: 'failing',
  still_answers: 'still answers',
  started: 'Started {started}',
  updated: 'Updated {updated}',
  expires: 'Expires {expires}',
  waits: 'Waiting:',
  until: 'until',
  notes: 'Notes:',
  faults: 'Errors',
  more: 'More entries were left out.',
  comeback: '{comeback}',
  logs: 'Logs',
  dashboard: 'Dashboard',
} as const;

export type TextName = keyof typeof defaultTexts;

/** The texts that a project replaces. */
export type CommentTemplate = { readonly [name in TextName]?: string };

const textLimit = 400;
const bodyLimit = 4_000;

const isTextName = (name: string): name is TextName => Object.hasOwn(defaultTexts, name);
const isPartName = (name: string): name is PartName => Object.hasOwn(partLimits, name);
const isValueName = (name: string): name is ValueName => (valueNames as readonly string[]).includes(name);

/** The errors of a template, as sentences. An invalid text is replaced by the default. */
export const checkTemplate = (template: { readonly [name: string]: string }): readonly string[] =>
  Object.entries(template).flatMap(([name, text]) => {
    if (!isTextName(name))
      return [`${showTemplate(name)} is not a text of a comment; use one of ${Object.keys(defaultTexts).join(', ')}`];
    const fault = faultOf(name, text);
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });

/** The project's text if it is valid, else the default. */
export const textOf = (template: CommentTemplate, name: TextName): string => {
  const own = Object.hasOwn(template, name) ? template[name] : undefined;
  return own !== undefined && faultOf(name, own) === undefined ? own : defaultTexts[name];
};

export type BodyLine = { readonly part: PartName } | { readonly text: string };

export const bodyOf = (text: string): readonly BodyLine[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const name = /^\{([a-z]+)\}$/.exec(line)?.[1];
      return name !== undefined && isPartName(name) ? { part: name } : { text: line };
    });

const faultOf = (name: TextName, text: string): string | undefined => {
  const limit = name === 'body' ? bodyLimit : textLimit;
  if (text.length > limit) return `it is longer than ${limit} characters`;
  if (name !== 'body') return faultOfLine(text);
  const lines = bodyOf(text);
  const parts = lines.flatMap((line) => ('part' in line ? [line.part] : []));
  const twice = parts.find((part, index) => parts.indexOf(part) !== index);
  if (twice !== undefined) return `{${twice}} may be used only once`;
  return lines.map((line) => ('text' in line ? faultOfLine(line.text) : undefined)).find((fault) => fault !== undefined);
};

const faultOfLine = (text: string): string | undefined => {
  const parsed = parseTemplateText(text, 'braces');
  if (!parsed.ok) return parsed.fault;
  for (const part of parsed.parts) {
    if (typeof part === 'string' || isValueName(part.name)) continue;
    if (isPartName(part.name)) return `${part.written} is a part; use it in the body, alone on its line`;
    return `${showTemplate(part.written)} is unknown; use one of ${valueNames.map((name) => `{${name}}`).join(', ')}`;
  }
  return undefined;
};

/** A text with its values as one line of Markdown. Empty if a value is missing. */
export const fill = (text: string, values: TextValues, limit: number): string => {
  const pieces = piecesOf(text, values);
  if (pieces === undefined) return '';
  let filled = '';
  for (const piece of pieces.map((one) => (typeof one === 'string' ? linkify(one) : one.markdown))) {
    const longer = joinEscaped(filled, piece);
    if (longer.length >= limit) return `${filled}…`;
    filled = longer;
  }
  return filled.trim();
};

/** The same without links and markup, for use inside other markup. */
export const fillPlain = (text: string, values: TextValues, limit: number): string =>
  inlineText((piecesOf(text, values) ?? []).map((piece) => (typeof piece === 'string' ? piece : piece.plain)).join(''), limit);

type Piece = string | { readonly plain: string; readonly markdown: string };

const piecesOf = (text: string, values: TextValues): readonly Piece[] | undefined => {
  const parsed = parseTemplateText(text, 'braces');
  const pieces: Piece[] = [];
  for (const part of parsed.ok ? parsed.parts : []) {
    const value = typeof part === 'string' ? part : isValueName(part.name) ? values[part.name] : undefined;
    if (value === undefined) return undefined;
    if (typeof part === 'string' || typeof value === 'string' || part.slice === undefined) pieces.push(value);
    else pieces.push(takeSlice(value.plain, part.slice));
  }
  return pieces;
};

const addresses = /(https?:\/\/[^\s<>"'`{}|\\^[\]]*[^\s<>"'`{}|\\^[\].,;:!?)])/u;

const linkify = (text: string): string =>
  text
    .split(addresses)
    .map((piece, index) => (index % 2 === 1 ? linkedAddress(piece) : escapeLine(piece)))
    .reduce(joinEscaped);
