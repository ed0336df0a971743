import type { Node } from 'yaml';
import type { z } from 'zod';
import { closest } from './suggest.ts';
import { type Flaw, joinPath, keyOffset, locate, type Step } from './yaml-text.ts';

type Path = readonly Step[];

interface Described extends Flaw {
  /** The path that was probably meant by a misspelt key: that it is missing is then no second fault. */
  readonly meant?: string | undefined;
  /** For something missing: the paths of which one is enough. */
  readonly missing?: readonly string[] | undefined;
}

interface Subject {
  readonly schema: z.core.$ZodType;
  readonly root: Node;
  readonly value: unknown;
}

const isRequired = 'is required';

/** What the schema has against a value, as sentences about places in the text. */
export const describeIssues = (
  issues: readonly z.core.$ZodIssue[],
  schema: z.core.$ZodType,
  root: Node,
  value: unknown,
): readonly Flaw[] => {
  const described = issues.flatMap((issue) => describe(issue, { schema, root, value }));
  const meant = new Set(described.map((one) => one.meant));
  return described.filter((one) => !one.missing?.some((path) => meant.has(path)));
};

const describe = (issue: z.core.$ZodIssue, subject: Subject): readonly Described[] => {
  const { root, value } = subject;
  const path = pathOf(issue);
  const nearest = issue.code === 'invalid_union' ? nearestOption(issue) : undefined;
  if (nearest !== undefined) return nearest.flatMap((one) => describe({ ...one, path: [...path, ...one.path] }, subject));
  const { node, offset } = locate(root, path);
  if (issue.code === 'unrecognized_keys') {
    const shape = shapeAt(path, subject);
    return issue.keys.map((key) => ({ offset: keyOffset(node, key) ?? offset, ...describeUnknownKey(path, key, shape) }));
  }
  const message = sentence(issue, valueAt(value, path));
  const missing = message.startsWith(isRequired) ? missingPaths(issue, path) : undefined;
  return [{ offset, path: print(path), message: path.length === 0 ? `the file ${message}` : message, missing }];
};

const missingPaths = (issue: z.core.$ZodIssue, path: Path): readonly string[] => {
  const alternatives = issue.code === 'custom' ? (issue.params?.['alternatives'] as readonly string[] | undefined) : undefined;
  return alternatives?.map((key) => print([...path.slice(0, -1), key])) ?? [print(path)];
};

const pathOf = (issue: z.core.$ZodIssue): Path => issue.path.filter((step) => typeof step !== 'symbol');

const describeUnknownKey = (path: Path, key: string, shape: Shape): Omit<Described, 'offset'> => {
  const unknown = (hint: string, meant?: string) => ({
    path: print([...path, key]),
    message: `unknown key; ${hint}`,
    meant: meant === undefined ? undefined : print([...path, meant]),
  });
  if (key === '<<') return { ...unknown(''), message: 'merge keys are not supported; repeat the keys here' };
  const allowed = Object.keys(shape);
  const near = closest(key, allowed);
  if (near !== undefined) return unknown(`did you mean ${quote(near)}?`, near);
  const deeper = allowed.filter((one) => Object.hasOwn(shapeOf(shape[one], undefined), key));
  if (deeper.length > 0) return unknown(`did you mean ${printChoices(deeper.map((one) => quote(`${one}.${key}`)))}?`);
  return unknown(`allowed here: ${allowed.join(', ')}`);
};

const print = (path: Path): string => path.reduce(joinPath, '');

const sentence = (issue: z.core.$ZodIssue, value: unknown): string => {
  switch (issue.code) {
    case 'invalid_type':
      // Messages of the schema are better than ours, and ours better than the library's.
      return issue.message.startsWith('Invalid input') ? mustBe([nouns[issue.expected] ?? issue.expected], value) : issue.message;
    case 'invalid_value':
      return issue.message.startsWith('Invalid') ? mustBe(issue.values.map(quote), value) : issue.message;
    case 'invalid_union':
      return issue.message.startsWith('Invalid') ? mustBe(choicesOf(issue), value) : issue.message;
    case 'invalid_key':
      return issue.issues[0] === undefined ? issue.message : sentence(issue.issues[0], issue.path.at(-1));
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
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  record: 'a map of keys and values',
};

const quote = (literal: unknown): string => JSON.stringify(literal);

const printChoices = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

const mustBe = (choices: readonly string[], value: unknown): string => {
  const must = `must be ${printChoices(choices)}`;
  if (value === undefined) return choices[0]?.startsWith('"') ? `${isRequired}: ${printChoices(choices)}` : isRequired;
  if (value === null) return `${must}, but there is no value`;
  const isUnquoted = typeof value === 'number' || typeof value === 'boolean';
  if (isUnquoted && choices.includes('text')) return `${must}; put it in quotes`;
  if (isUnquoted && choices.some((choice) => choice.startsWith('"'))) return `${must}, in quotes`;
  const near = typeof value === 'string' ? closest(quote(value), choices) : undefined;
  return near === undefined || choices.length === 1 ? must : `${must}; did you mean ${near}?`;
};

/** Where a value may be one of several things: what is wrong with the one whose type it has. */
const nearestOption = (issue: z.core.$ZodIssueInvalidUnion): readonly z.core.$ZodIssue[] | undefined =>
  issue.errors.find((option) => wrongType(option) === undefined);

const wrongType = (option: readonly z.core.$ZodIssue[]): z.core.$ZodIssueInvalidType | undefined =>
  option.find((one) => one.code === 'invalid_type' && one.path.length === 0) as z.core.$ZodIssueInvalidType | undefined;

const choicesOf = (issue: z.core.$ZodIssueInvalidUnion): readonly string[] => {
  if ('options' in issue) return (issue.options as readonly unknown[]).map(quote);
  const choices = issue.errors.map((option) => nouns[wrongType(option)?.expected ?? ''] ?? 'something else');
  // Where text is welcome, numbers and truth values are only accepted because they can be written without quotes.
  return choices.includes('text')
    ? choices.filter((choice) => choice !== nouns['number'] && choice !== nouns['boolean'])
    : choices;
};

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as { [key: string]: unknown })[step] : undefined,
    value,
  );

type Shape = { readonly [key: string]: z.core.$ZodType };

/** Which keys the schema allows at a path; follows the data where the schema branches. */
const shapeAt = (path: Path, { schema, value }: Subject): Shape => {
  let at: z.core.$ZodType | undefined = schema;
  for (const [depth, step] of path.entries()) at = child(unwrap(at, valueAt(value, path.slice(0, depth))), step);
  return shapeOf(at, valueAt(value, path));
};

const shapeOf = (schema: z.core.$ZodType | undefined, value: unknown): Shape => definitionOf(unwrap(schema, value))?.shape ?? {};

interface Definition {
  readonly type: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly discriminator?: string;
  readonly shape?: Shape;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly values?: readonly unknown[];
}

const definitionOf = (schema: z.core.$ZodType | undefined): Definition | undefined => schema?._zod.def;

const unwrap = (schema: z.core.$ZodType | undefined, value: unknown): z.core.$ZodType | undefined => {
  const definition = definitionOf(schema);
  const inner = definition?.innerType ?? definition?.in;
  if (inner !== undefined) return unwrap(inner, value);
  if (definition?.type !== 'union') return schema;
  const { options = [], discriminator } = definition;
  if (discriminator === undefined) return options.map((option) => unwrap(option, value)).find(isCollection);
  const wanted = valueAt(value, [discriminator]);
  const chosen = options.find((option) => {
    const shape = definitionOf(unwrap(option, value))?.shape;
    return definitionOf(shape?.[discriminator])?.values?.includes(wanted);
  });
  return unwrap(chosen, value);
};

const isCollection = (schema: z.core.$ZodType | undefined): boolean => {
  const type = definitionOf(schema)?.type;
  return type === 'object' || type === 'record' || type === 'array';
};

const child = (schema: z.core.$ZodType | undefined, step: Step): z.core.$ZodType | undefined => {
  const { shape, element, valueType } = definitionOf(schema) ?? { type: 'none' };
  if (shape !== undefined) return Object.hasOwn(shape, step) ? shape[step] : undefined;
  return element ?? valueType;
};
