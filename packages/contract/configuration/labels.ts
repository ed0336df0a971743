import { closest } from '../spec/suggest.ts';

const labelNames = ['type', 'repository', 'project'] as const;
type LabelName = (typeof labelNames)[number];

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
export const readLabels = (labels: { readonly [key: string]: unknown }): { readonly [name in LabelName]?: string } => {
  const values: { [name in LabelName]?: string } = {};
  for (const name of labelNames) {
    const value = labels[keyOf(name, labels)];
    if (typeof value === 'string') values[name] = value;
  }
  return values;
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
  const values = readLabels(labels);
  const expected: readonly (readonly [LabelName, string])[] =
    scope.type === 'cluster'
      ? [['type', 'cluster']]
      : [
          ['type', 'project'],
          ['repository', scope.repository],
          ['project', scope.project],
        ];
  return expected.flatMap(([name, value]) =>
    values[name] === undefined || values[name] === value
      ? []
      : [{ key: keyOf(name, labels), message: `must be ${JSON.stringify(value)}, as in the path of the file` }],
  );
};

const flawsOfKey = (key: string, labels: { readonly [key: string]: unknown }): LabelFlaw[] => {
  const prefix = labelPrefixes.find((one) => key.startsWith(one));
  const value = labels[key];
  // Labels of others mean nothing here, and the schema has refused what is no text.
  if (prefix === undefined || typeof value !== 'string') return [];
  const name = labelNames.find((one) => `${prefix}${one}` === key);
  if (name === undefined) {
    const near = closest(key.slice(prefix.length), labelNames);
    const hint = near === undefined ? `known are ${labelNames.join(', ')}` : `did you mean ${JSON.stringify(prefix + near)}?`;
    return [{ key, message: `unknown label; ${hint}` }];
  }
  const first = keyOf(name, labels);
  if (first !== key && labels[first] !== value) return [{ key, message: `differs from ${first}; keep one of them` }];
  if (name !== 'type') return labelValue.test(value) ? [] : [{ key, message: labelValueMessage }];
  return configTypes.some((type) => type === value)
    ? []
    : [{ key, message: `must be ${configTypes.map((type) => JSON.stringify(type)).join(' or ')}` }];
};

const keyOf = (name: LabelName, labels: { readonly [key: string]: unknown }): string =>
  labelPrefixes.map((prefix) => `${prefix}${name}`).find((key) => Object.hasOwn(labels, key)) ?? `${labelPrefixes[0]}${name}`;
