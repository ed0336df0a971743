import { isAlias, isMap, isPair, isScalar, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml';
import type { z } from 'zod';
import { defaultTriggers, type Spec, specSchema, type Trigger } from './schema.ts';
import { closest } from './suggest.ts';

/** A mistake in `eph.yaml`, with the place to look at. Lines and columns start at 1. */
export interface Fault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Dotted path of the key, empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

export type ParsedSpec =
  | { readonly ok: true; readonly spec: Spec; readonly triggers: readonly Trigger[] }
  /** Triggers are still known where that part of the file is sound, so that the right environments show the faults. */
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly triggers: readonly Trigger[] };

/** Larger than any real file by far; anything above is a mistake or an attack. */
export const specLimitBytes = 256 * 1024;
const depthLimit = 64;
const faultLimit = 50;

export const printFault = (fault: Fault): string =>
  `${fault.file}:${fault.line}:${fault.column}: ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`;

/** Turns the bytes of an `eph.yaml` into a spec or into every fault in it. Never throws, whatever the bytes are. */
export const parseSpec = (bytes: Uint8Array, file = 'eph.yaml'): ParsedSpec => {
  const whole = (message: string, line = 1, column = 1): ParsedSpec => ({
    ok: false,
    faults: [{ file, line, column, path: '', message }],
    triggers: defaultTriggers,
  });
  if (bytes.byteLength > specLimitBytes)
    return whole(`the file has ${bytes.byteLength} bytes; at most ${specLimitBytes} are read`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return whole('the file is not valid UTF-8');
  }
  const deep = tooDeep(text);
  if (deep !== undefined) return whole(`nested more than ${depthLimit} levels deep`, deep);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, stringKeys: true, logLevel: 'silent' });
  const place = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (document.errors.length > 0) {
    const faults = document.errors.slice(0, faultLimit).map((error) => ({
      file,
      ...place(error.pos[0]),
      path: '',
      message: firstLine(error.message),
    }));
    return { ok: false, faults, triggers: defaultTriggers };
  }
  if (document.contents === null) return whole('the file is empty');
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 100 });
  } catch {
    return whole('aliases expand to more than the file may hold');
  }
  const result = specSchema.safeParse(raw);
  if (result.success) return { ok: true, spec: result.data, triggers: result.data.triggers };
  const root = document.contents as unknown as Node;
  const found = result.error.issues.flatMap((issue) => describe(issue, root, raw));
  const misspelt = new Set(found.map((one) => one.meant));
  const faults = found
    .filter((one) => one.message !== isRequired || !misspelt.has(one.path))
    .map((one) => ({ file, ...place(one.offset), path: one.path, message: one.message }))
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .slice(0, faultLimit);
  const triggers = specSchema.shape.triggers.safeParse((raw as { triggers?: unknown } | null)?.triggers);
  return { ok: false, faults, triggers: triggers.success ? triggers.data : defaultTriggers };
};

const firstLine = (message: string): string => message.split('\n', 1)[0]?.replace(/:$/, '') ?? message;

/**
 * The line on which nesting passes the limit. The YAML composer recurses, so depth is bounded before it sees the text. Indentation
 * and brackets both nest; counting brackets inside strings too only makes the check stricter.
 */
const tooDeep = (text: string): number | undefined => {
  let brackets = 0;
  let line = 0;
  for (const content of text.split('\n')) {
    line += 1;
    const indentation = content.length - content.trimStart().length;
    const inline = /^(?:\s*(?:[-?:]\s+))+/.exec(content)?.[0].split(/[-?:]/).length ?? 0;
    for (const character of content) {
      if (character === '[' || character === '{') brackets += 1;
      else if ((character === ']' || character === '}') && brackets > 0) brackets -= 1;
      if (brackets > depthLimit) return line;
    }
    if (inline > depthLimit || (indentation > 2000 && content.trim() !== '')) return line;
  }
  return undefined;
};

interface Located {
  readonly offset: number;
  readonly path: string;
  readonly message: string;
  /** The path that was probably meant by a misspelt key: that it is missing is then no second fault. */
  readonly meant?: string | undefined;
}

const isRequired = 'is required';

const describe = (issue: z.core.$ZodIssue, root: Node, raw: unknown): Located[] => {
  const path = issue.path.filter((step) => typeof step !== 'symbol') as (string | number)[];
  const at = locate(root, path);
  if (issue.code === 'unrecognized_keys') {
    const allowed = keysAt(path, raw);
    return issue.keys.map((key) => {
      const near = closest(key, allowed);
      return {
        offset: keyOffset(at.node, key) ?? at.offset,
        path: [...path, key].join('.'),
        meant: near === undefined ? undefined : [...path, near].join('.'),
        message:
          near === undefined
            ? `unknown key; allowed here: ${allowed.join(', ')}`
            : `unknown key; did you mean ${JSON.stringify(near)}?`,
      };
    });
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && !('discriminator' in issue && issue.discriminator))
    return [{ offset: at.offset, path: path.join('.'), message: unionMessage(issue) }];
  return [{ offset: at.offset, path: path.join('.'), message: sentence(issue, at.found) }];
};

const unionMessage = (issue: z.core.$ZodIssueInvalidUnion): string => {
  const expected = issue.errors.flat().flatMap((one) => (one.code === 'invalid_type' ? [one.expected] : []));
  return expected.length > 0 ? `must be ${[...new Set(expected)].join(' or ')}` : issue.message;
};

const sentence = (issue: z.core.$ZodIssue, found: boolean): string => {
  if (!found && issue.code === 'invalid_type') return isRequired;
  if (!found && issue.code === 'invalid_value') return isRequired;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'invalid_union':
      return 'type must be "git_branch" or "git_tag"';
    case 'invalid_key':
      return `${JSON.stringify(issue.path.at(-1))}: ${issue.issues[0]?.message ?? 'is not allowed as a name'}`;
    case 'too_small':
      return issue.origin === 'array' ? 'must not be empty' : issue.message;
    default:
      return issue.message;
  }
};

/** The node a path leads to, or the deepest one on the way that exists. */
const locate = (root: Node, path: readonly (string | number)[]): { node: Node; offset: number; found: boolean } => {
  let node: Node = root;
  let offset = root.range?.[0] ?? 0;
  for (const step of path) {
    const next: unknown = isMap(node) || 'items' in node ? (node as YAMLMap).get(step as never, true) : undefined;
    if (next === undefined || next === null || isAlias(next)) return { node, offset, found: isAlias(next) };
    const key = isMap(node) ? keyOffset(node, String(step)) : undefined;
    node = next as Node;
    offset = key ?? node.range?.[0] ?? offset;
  }
  return { node, offset, found: true };
};

const keyOffset = (node: Node, key: string): number | undefined => {
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item): item is Pair<Node> => isPair(item) && isScalar(item.key) && String(item.key.value) === key);
  return pair?.key.range?.[0];
};

/** Which keys the schema allows at a path; follows the data where the schema branches. */
const keysAt = (path: readonly (string | number)[], raw: unknown): string[] => {
  let schema: z.core.$ZodType | undefined = specSchema;
  let value: unknown = raw;
  for (const step of path) {
    schema = child(unwrap(schema, value), step);
    value = (value as Record<string | number, unknown> | null)?.[step];
  }
  const target = unwrap(schema, value);
  return target?._zod.def.type === 'object' ? Object.keys((target as z.core.$ZodObject)._zod.def.shape) : [];
};

const unwrap = (schema: z.core.$ZodType | undefined, value: unknown): z.core.$ZodType | undefined => {
  const def = schema?._zod.def as { type: string; innerType?: z.core.$ZodType; options?: z.core.$ZodType[]; discriminator?: string };
  if (def?.innerType !== undefined) return unwrap(def.innerType, value);
  if (def?.type === 'union' && def.discriminator !== undefined) {
    const discriminator = def.discriminator;
    const wanted = (value as Record<string, unknown> | null)?.[discriminator];
    return def.options?.find((option) => {
      const shape = (option as z.core.$ZodObject)._zod.def.shape as Record<string, z.core.$ZodType>;
      return (shape[discriminator]?._zod.def as { values?: unknown[] } | undefined)?.values?.includes(wanted);
    });
  }
  return schema;
};

const child = (schema: z.core.$ZodType | undefined, step: string | number): z.core.$ZodType | undefined => {
  const def = schema?._zod.def as
    | { type: string; shape?: Record<string, z.core.$ZodType>; element?: z.core.$ZodType; valueType?: z.core.$ZodType }
    | undefined;
  if (def?.type === 'object') return def.shape?.[step];
  if (def?.type === 'array') return def.element;
  if (def?.type === 'record') return def.valueType;
  return undefined;
};
