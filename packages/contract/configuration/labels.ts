import { closest } from '../spec/suggest.ts';

const labelWords = ['type', 'repository', 'project'] as const;
type LabelWord = (typeof labelWords)[number];

/** Ours first; the second is what these documents carried before Eph read them. */
const labelPrefixes = ['eph.io/', 'forge.projectcatalyst.io/'] as const;

export const configTypes = ['cluster', 'project'] as const;
export type ConfigType = (typeof configTypes)[number];

/** Whom a document is for. */
export type ConfigScope =
  | { readonly type: 'cluster' }
  | { readonly type: 'project'; readonly repository: string; readonly project: string };

/** What Kubernetes takes as the value of a label. It has no slash and begins with no dot, so it may also name a folder. */
export const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

export const labelValueMessage =
  'must be letters, digits, dashes, dots and underscores, with a letter or digit at both ends, at most 63 characters';

export interface LabelFlaw {
  /** The label at fault; absent when one is missing. */
  readonly key?: string;
  readonly message: string;
}

/** The values of our labels, whichever prefix they have. */
export const readLabels = (labels: { readonly [key: string]: unknown }): { readonly [word in LabelWord]?: string } => {
  const said: { [word in LabelWord]?: string } = {};
  for (const word of labelWords) {
    const value = labels[keyOf(word, labels)];
    if (typeof value === 'string') said[word] = value;
  }
  return said;
};

export const findLabelFlaws = (labels: { readonly [key: string]: unknown }): readonly LabelFlaw[] => {
  const flaws = Object.keys(labels).flatMap((key) => flawsOfKey(key, labels));
  const { type, project } = readLabels(labels);
  if (labels[keyOf('type', labels)] === undefined && flaws.length === 0)
    flaws.push({ message: `needs the label ${labelPrefixes[0]}type: ${configTypes.join(' or ')}` });
  if (type === 'project' && project === undefined && flaws.length === 0)
    flaws.push({ message: `needs the label ${labelPrefixes[0]}project: whose overrides these are` });
  return flaws;
};

/** Labels for another scope. A project document may leave out its repository, which its path gives. */
export const findForeignLabels = (labels: { readonly [key: string]: unknown }, scope: ConfigScope): readonly LabelFlaw[] => {
  const said = readLabels(labels);
  const expected: readonly (readonly [LabelWord, string])[] =
    scope.type === 'cluster'
      ? [['type', 'cluster']]
      : [
          ['type', 'project'],
          ['repository', scope.repository],
          ['project', scope.project],
        ];
  return expected.flatMap(([word, value]) =>
    said[word] === undefined || said[word] === value
      ? []
      : [{ key: keyOf(word, labels), message: `must be ${JSON.stringify(value)}, as the path of the file says` }],
  );
};

const flawsOfKey = (key: string, labels: { readonly [key: string]: unknown }): LabelFlaw[] => {
  const prefix = labelPrefixes.find((one) => key.startsWith(one));
  const value = labels[key];
  // Labels of others mean nothing here, and the schema has refused what is no text.
  if (prefix === undefined || typeof value !== 'string') return [];
  const word = labelWords.find((one) => `${prefix}${one}` === key);
  if (word === undefined) {
    const near = closest(key.slice(prefix.length), labelWords);
    const hint = near === undefined ? `known are ${labelWords.join(', ')}` : `did you mean ${JSON.stringify(prefix + near)}?`;
    return [{ key, message: `unknown label; ${hint}` }];
  }
  const first = keyOf(word, labels);
  if (first !== key && labels[first] !== value) return [{ key, message: `says something else than ${first}; keep one of them` }];
  if (word !== 'type') return labelValue.test(value) ? [] : [{ key, message: labelValueMessage }];
  return configTypes.some((type) => type === value)
    ? []
    : [{ key, message: `must be ${configTypes.map((type) => JSON.stringify(type)).join(' or ')}` }];
};

const keyOf = (word: LabelWord, labels: { readonly [key: string]: unknown }): string =>
  labelPrefixes.map((prefix) => `${prefix}${word}`).find((key) => Object.hasOwn(labels, key)) ?? `${labelPrefixes[0]}${word}`;
