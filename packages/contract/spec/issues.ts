import { isAlias, isMap, isPair, isScalar, isSeq, type Node, type Pair } from 'yaml';
import type { z } from 'zod';
import { specSchema } from './schema.ts';
import { closest } from './suggest.ts';
import { type Flaw, joinPath } from './yaml-text.ts';

type Path = readonly (string | number)[];

interface Described extends Flaw {
  /** The path that was probably meant by a misspelt key: that it is missing is then no second fault. */
  readonly meant?: string | undefined;
}

const isRequired = 'is required';

/** What the schema has against a value, as sentences about places in the text. */
export const describeIssues = (issues: readonly z.core.$ZodIssue[], root: Node, value: unknown): readonly Flaw[] => {
  const described = issues.flatMap((issue) => describe(issue, root, value));
  const meant = new Set(described.map((one) => one.meant));
  return described.filter((one) => !one.message.startsWith(isRequired) || !meant.has(one.path));
};

const describe = (issue: z.core.$ZodIssue, root: Node, value: unknown): readonly Described[] => {
  const path = pathOf(issue);
  const nearest = issue.code === 'invalid_union' ? nearestOption(issue) : undefined;
  if (nearest !== undefined) return describe({ ...nearest, path: [...path, ...nearest.path] }, root, value);
  const { node, offset } = locate(root, path);
  if (issue.code === 'unrecognized_keys') {
    const allowed = keysAt(path, value);
    return issue.keys.map((key) => ({ offset: keyOffset(node, key) ?? offset, ...describeUnknownKey(path, key, allowed) }));
  }
  const message = sentence(issue, valueAt(value, path));
  return [{ offset, path: print(path), message: path.length === 0 ? `the file ${message}` : message }];
};

const pathOf = (issue: z.core.$ZodIssue): Path => issue.path.filter((step) => typeof step !== 'symbol');

const describeUnknownKey = (path: Path, key: string, allowed: readonly string[]): Omit<Described, 'offset'> => {
  if (key === '<<') return { path: print([...path, key]), message: 'merge keys are not supported; repeat the keys here' };
  const near = closest(key, allowed);
  const hint = near === undefined ? `allowed here: ${allowed.join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
  return { path: print([...path, key]), message: `unknown key; ${hint}`, meant: near && print([...path, near]) };
};

const print = (path: Path): string => path.reduce(joinPath, '');

const sentence = (issue: z.core.$ZodIssue, value: unknown): string => {
  switch (issue.code) {
    case 'invalid_type':
      // Words of the schema say more than ours; the library's own say less.
      return issue.message.startsWith('Invalid input') ? mustBe([nouns[issue.expected] ?? issue.expected], value) : issue.message;
    case 'invalid_value':
      return mustBe(issue.values.map(quote), value);
    case 'invalid_union':
      return mustBe(choicesOf(issue), value);
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    case 'too_small':
      return issue.origin === 'number' ? issue.message : 'must not be empty';
    case 'too_big':
      return issue.origin === 'number'
        ? issue.message
        : `must have at most ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'entries'}`;
    default:
      return issue.message;
  }
};

const nouns: { readonly [type: string]: string } = {
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  record: 'a map of keys and values',
};

const quote = (literal: unknown): string => JSON.stringify(literal);

const mustBe = (choices: readonly string[], value: unknown): string => {
  const must = `must be ${choices.join(' or ')}`;
  if (value === undefined) return choices[0]?.startsWith('"') ? `${isRequired}: ${choices.join(' or ')}` : isRequired;
  if (value === null) return `${must}, but there is no value`;
  const isUnquoted = typeof value === 'number' || typeof value === 'boolean';
  if (isUnquoted && choices.includes('text')) return `${must}; put it in quotes`;
  if (isUnquoted && choices.some((choice) => choice.startsWith('"'))) return `${must}, in quotes`;
  const near = typeof value === 'string' ? closest(quote(value), choices) : undefined;
  return near === undefined || choices.length === 1 ? must : `${must}; did you mean ${near}?`;
};

/** Where a value may be one of several things: what is wrong with the one whose type it has. */
const nearestOption = (issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined =>
  issue.errors.find((option) => wrongType(option) === undefined)?.[0];

const wrongType = (option: readonly z.core.$ZodIssue[]): z.core.$ZodIssueInvalidType | undefined =>
  option.find((one) => one.code === 'invalid_type' && one.path.length === 0) as z.core.$ZodIssueInvalidType | undefined;

const choicesOf = (issue: z.core.$ZodIssueInvalidUnion): readonly string[] => {
  if ('options' in issue) return (issue.options as readonly unknown[]).map(quote);
  const choices = issue.errors.map((option) => nouns[wrongType(option)?.expected ?? ''] ?? 'something else');
  // Where text is welcome, numbers and truth values are only accepted because they can be written without quotes.
  return choices.includes('text') ? choices.filter((choice) => choice === 'text' || choice.startsWith('a ')) : choices;
};

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as { [key: string]: unknown })[step] : undefined,
    value,
  );

/** The node a path leads to, or the deepest one on the way that exists. An alias is as far as it goes. */
const locate = (root: Node, path: Path): { readonly node: Node; readonly offset: number } => {
  let node = root;
  let offset = root.range?.[0] ?? 0;
  for (const step of path) {
    const next = isMap<unknown, Node>(node) || isSeq<Node>(node) ? (node.get(step, true) as Node | undefined) : undefined;
    if (next === undefined || next === null) break;
    offset = keyOffset(node, String(step)) ?? next.range?.[0] ?? offset;
    if (isAlias(next)) break;
    node = next;
  }
  return { node, offset };
};

const keyOffset = (node: Node, key: string): number | undefined => {
  if (!isMap(node)) return undefined;
  const pair = node.items.find(
    (item): item is Pair<Node> => isPair(item) && isScalar(item.key) && String(item.key.value) === key,
  );
  return pair?.key.range?.[0];
};

/** Which keys the schema allows at a path; follows the data where the schema branches. */
const keysAt = (path: Path, value: unknown): readonly string[] => {
  let schema: z.core.$ZodType | undefined = specSchema;
  for (const [depth, step] of path.entries()) schema = child(unwrap(schema, valueAt(value, path.slice(0, depth))), step);
  const target = unwrap(schema, valueAt(value, path));
  return target?._zod.def.type === 'object' ? Object.keys((target as z.core.$ZodObject)._zod.def.shape) : [];
};

const unwrap = (schema: z.core.$ZodType | undefined, value: unknown): z.core.$ZodType | undefined => {
  const def = schema?._zod.def as {
    type: string;
    innerType?: z.core.$ZodType;
    options?: z.core.$ZodType[];
    discriminator?: string;
  };
  if (def?.innerType !== undefined) return unwrap(def.innerType, value);
  if (def?.type === 'union' && def.discriminator !== undefined) {
    const discriminator = def.discriminator;
    const wanted = valueAt(value, [discriminator]);
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
