import type { ProjectId, SourceRef } from '@eph/contract';
import { appRepository, type ImageKind, imageKinds, nameOf } from './builds.ts';
import type { Random } from './random.ts';

/** Whether a source wants an environment. Unclear if the file cannot be understood: then nothing is made and nothing removed. */
export type Wanted = 'yes' | 'no' | 'unclear';

/** The components of each section, each with those it refers to. */
export interface Shape {
  readonly process: { readonly [name: string]: readonly string[] };
  /** Made by another provider than the rest. */
  readonly extras: { readonly [name: string]: readonly string[] };
  /** The components that run an image, each with how the file says that it is found. */
  readonly images: { readonly [name: string]: ImageKind };
}

/** The files of a commit and what must follow from them, written without the engine so that the two can be compared. */
export interface Content {
  readonly label: string;
  readonly files: (project: ProjectId) => { readonly [path: string]: string };
  readonly wants: (ref: SourceRef) => Wanted;
  /** Absent if nothing can be made from the file. */
  readonly shape: Shape | undefined;
  /** The names or types of providers that may make the section `process`, the first choice first. */
  readonly choice: readonly string[];
  /** It has a `name_template`. */
  readonly hasTemplate: boolean;
  /** Nothing can be made yet, because it refers to something that may still appear. */
  readonly waits?: boolean;
}

export const componentsOf = ({ process, extras }: Shape): readonly string[] => [...Object.keys(process), ...Object.keys(extras)];

export const usesOf = ({ process, extras }: Shape, component: string): readonly string[] =>
  process[component] ?? extras[component] ?? [];

/** Whether every commit is another version of it. */
export const runsFiles = ({ process }: Shape, component: string): boolean => Object.hasOwn(process, component);

const isPreview = (ref: SourceRef): boolean => ref.kind === 'branch' && ref.name.startsWith('preview/');
const isRelease = (ref: SourceRef): boolean => ref.kind === 'branch' && ref.name.startsWith('release/');
const isVersion = (ref: SourceRef): boolean => ref.kind === 'tag' && ref.name.startsWith('v');

const shape = (process: Shape['process'], extras: Shape['extras'] = {}): Shape => ({ process, extras, images: {} });

/** Other names for the same components. */
const newNames: { readonly [name: string]: string } = { web: 'site', api: 'backend', cache: 'store' };

const newNameOf = (name: string): string => newNames[name] ?? name;

const renameKeys = <T>(components: { readonly [name: string]: T }): { readonly [name: string]: T } =>
  Object.fromEntries(Object.entries(components).map(([name, one]) => [newNameOf(name), one]));

const renameUses = (components: Shape['process']): Shape['process'] =>
  Object.fromEntries(Object.entries(renameKeys(components)).map(([name, uses]) => [name, uses.map(newNameOf)]));

const rename = ({ process, extras, images }: Shape): Shape => ({
  process: renameUses(process),
  extras: renameUses(extras),
  images: renameKeys(images),
});

const envOf = (uses: readonly string[], mark?: string): string => {
  const variables = uses.map((used) => `${used.toUpperCase()}: outputs/${used}/url`);
  return `env: { ${[...variables, ...(mark === undefined ? [] : [`MARK: "${mark}"`])].join(', ')} }`;
};

const imageText = (project: ProjectId, kind: ImageKind | undefined): string =>
  kind === undefined ? '' : `image: "${nameOf(project, kind)}", `;

const entryTexts: { readonly [kind in Exclude<ImageKind, 'fixed'>]: string } = {
  tagged: 'tag_template: "build-{commit_sha:0:7}"',
  scanned: 'tag_pattern: "{branch_name}-*", fallback_behavior: wait',
  replaced: 'tag_template: "build-{commit_sha:0:7}", fallback_tag: latest',
};

const environmentText = (project: ProjectId, { images }: Shape, hasTemplate: boolean): string => {
  const entries = [...new Set(Object.values(images))].flatMap((kind) =>
    kind === 'fixed' ? [] : [`    - { name: ${kind}, repository: ${appRepository(project)}, ${entryTexts[kind]} }`],
  );
  const lines = [...(hasTemplate ? ['  name_template: "{project}"'] : []), ...(entries.length === 0 ? [] : ['  images:'])];
  return lines.length === 0 ? '' : `environment:\n${[...lines, ...entries].join('\n')}\n`;
};

const sectionText = (name: string, entries: readonly string[], indent: string): string =>
  entries.length === 0 ? '' : `${name}${entries.map((entry) => `${indent}${entry}\n`).join('')}`;

/** An `eph.yaml` with these components, each referring to others. */
const specText = (
  project: ProjectId,
  { process, extras, images }: Shape,
  choice: readonly string[],
  { head = `name: ${project}\n`, mark }: { readonly head?: string | undefined; readonly mark?: string | undefined } = {},
): string => {
  const image = (name: string): string => imageText(project, images[name]);
  const services = Object.entries(process).map(
    ([name, uses], index) =>
      `${name}: { command: run ${name}, ${image(name)}${envOf(uses)}${index === 0 ? ', entry: true' : ''} }`,
  );
  const others = Object.entries(extras).map(([name, uses]) => `${name}: { ${image(name)}${envOf(uses, mark)} }`);
  const [primary, fallback] = choice;
  const provider = primary === undefined ? '' : `provider: ${primary}\n`;
  const providers = `providers: { primary: ${primary}, fallback: ${fallback} }\n`;
  return [
    `# ${project}\nversion: "1.0"\n${head}${fallback === undefined ? provider : providers}`,
    sectionText('process:\n  services:\n', services, '    '),
    sectionText('extras:\n', others, '  '),
  ].join('');
};

interface Variant {
  readonly choice?: readonly string[];
  readonly hasTemplate?: boolean;
  readonly head?: (project: ProjectId) => string;
  readonly isWanted?: (ref: SourceRef) => boolean;
  /** Makes new versions of the components that run no file of the repository. */
  readonly mark?: string;
}

const describeShape = ({ process, extras, images }: Shape): string => {
  const describe = ([name, uses]: readonly [string, readonly string[]]): string =>
    uses.length === 0 ? name : `${name} (uses ${uses.join(', ')})`;
  const [services, others] = [process, extras].map((components) => Object.entries(components).map(describe).join(', '));
  const named = Object.entries(images).map(([name, kind]) => `, image of ${name} ${kind}`);
  return `${others === '' ? `${services}` : `${services} with ${others}`}${named.join('')}`;
};

const spec = (of: Shape, { choice = [], hasTemplate = false, head, isWanted = isPreview, mark }: Variant = {}): Content => ({
  label: `${describeShape(of)}${choice.length === 0 ? '' : ` on ${choice.join(' or ')}`}${hasTemplate ? ', named' : ''}`,
  files: (project) => {
    const named = `name: ${hasTemplate ? 'twin' : project}\n${environmentText(project, of, hasTemplate)}`;
    return { 'eph.yaml': specText(project, of, choice, { head: head?.(project) ?? named, mark }) };
  },
  wants: (ref) => (isWanted(ref) ? 'yes' : 'no'),
  shape: of,
  choice: choice.length === 0 ? ['process'] : choice,
  hasTemplate,
});

const unusable = (label: string, text: (project: ProjectId) => string | undefined, otherwise: Wanted): Content => ({
  label,
  files: (project): { readonly [path: string]: string } => {
    const file = text(project);
    return file === undefined ? { 'README.md': `# ${project}` } : { 'eph.yaml': file };
  },
  wants: (ref) => (isPreview(ref) ? 'yes' : otherwise),
  shape: undefined,
  choice: [],
  hasTemplate: false,
});

const onTags = (project: ProjectId): string =>
  `name: ${project}\ntriggers:\n  - { type: git_tag, patterns: ["v*"] }\n  - { type: git_branch, patterns: ["preview/**"] }\n`;

const onReleases = (project: ProjectId): string =>
  `name: ${project}\ntriggers:\n  - { type: git_branch, patterns: ["release/**"] }\n`;

/** All environments of a project ask for one name; those that do not get it have more behind it. */
export const isFromTemplate = (name: string): boolean => /^[a-z]+-twin/.test(name);

const unknownVariable = 'name: x\nenvironment: { name_template: "{nobody}" }\n';

const shapes: readonly [Shape, ...Shape[]] = [
  shape({ web: [] }),
  shape({ web: [], api: [] }),
  shape({ web: ['api'], api: [] }),
  shape({ web: [], api: ['web'] }),
  shape({ web: ['api'], api: ['db'], db: [] }),
  shape({ web: ['cache'] }, { cache: [] }),
  shape({ web: [] }, { cache: ['web'] }),
  // Beside the others, these move a component from one section to another.
  shape({ web: ['api'] }, { api: [] }),
  shape({ web: ['cache'], cache: [] }),
];

/** Fallbacks whose primary is configured, and is not. */
const choices: readonly [readonly string[], ...(readonly string[])[]] = [
  [],
  [],
  ['process'],
  ['local'],
  ['local'],
  ['local', 'process'],
  ['elsewhere', 'local'],
];

/** The contents of most commits. */
export const anySound = (random: Random): Content =>
  spec(withImages(random.pick(shapes), random), { choice: random.pick(choices), hasTemplate: random.chance(0.3) });

const withImages = (of: Shape, random: Random): Shape => {
  if (random.chance(0.65)) return of;
  const chosen = componentsOf(of).filter((_, index) => index === 0 || random.chance(0.4));
  return { ...of, images: Object.fromEntries(chosen.map((name) => [name, random.pick(imageKinds)])) };
};

/** The same, with versions of its own of every component. */
export const withMark = (content: Content, mark: string): Content =>
  content.shape === undefined ? content : spec(content.shape, { ...content, mark });

/** The same components on another provider, perhaps under other names. */
export const move = ({ shape: before, choice, hasTemplate }: Content, random: Random): Content | undefined => {
  if (before === undefined) return undefined;
  const other = choice[0] === 'local' ? ['process'] : ['local'];
  const after = random.chance(0.4) ? rename(before) : before;
  return spec(after, { choice: random.chance(0.9) ? other : choice, hasTemplate });
};

const web = shape({ web: [] });

const odd: readonly [Content, ...Content[]] = [
  spec(web, { head: onTags, isWanted: (ref) => isPreview(ref) || isVersion(ref) }),
  spec(web, { head: onReleases, isWanted: isRelease }),
  unusable('broken YAML', () => ': not yaml [', 'unclear'),
  unusable('a name that cannot be made', (project) => specText(project, web, [], { head: unknownVariable }), 'unclear'),
  { ...unusable('an unknown reference', (project) => specText(project, shape({ web: ['nobody'] }), []), 'no'), waits: true },
  unusable('a circle', (project) => specText(project, shape({ web: ['api'], api: ['web'] }), []), 'no'),
  unusable('an unknown provider', (project) => specText(project, web, ['elsewhere']), 'no'),
  unusable('a provider of another section', (project) => specText(project, web, ['spare']), 'no'),
  unusable('no eph.yaml', () => undefined, 'no'),
];

export const anyOdd = (random: Random): Content => random.pick(odd);

export const anyContent = (random: Random): Content => (random.chance(0.7) ? anySound(random) : anyOdd(random));
