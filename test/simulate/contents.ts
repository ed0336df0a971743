import type { ProjectId, SourceRef } from '@eph/contract';
import type { Random } from './random.ts';

/** Whether a source wants an environment. A file that cannot be understood may have said so: then nothing comes and nothing goes. */
export type Wish = 'yes' | 'no' | 'unclear';

/** What a commit holds, and what that has to mean: written down apart from the engine, so that one can be held against the other. */
export interface Content {
  readonly label: string;
  readonly files: (project: ProjectId) => { readonly [path: string]: string };
  readonly wants: (ref: SourceRef) => Wish;
  /** Every component with those it refers to; absent when nothing can be made from the file. */
  readonly components: { readonly [name: string]: readonly string[] } | undefined;
  /** Nothing can be made yet: something it refers to may still come. */
  readonly waits?: boolean;
}

const isPreview = (ref: SourceRef): boolean => ref.kind === 'branch' && ref.name.startsWith('preview/');
const isRelease = (ref: SourceRef): boolean => ref.kind === 'branch' && ref.name.startsWith('release/');
const isVersion = (ref: SourceRef): boolean => ref.kind === 'tag' && ref.name.startsWith('v');

/** `eph.yaml` with these services, each referring to others. */
const specText = (
  project: ProjectId,
  components: { readonly [name: string]: readonly string[] },
  head = `name: ${project}\n`,
): string => {
  const services = Object.entries(components).map(([name, uses]) => {
    const env = uses.map((used) => `${used.toUpperCase()}: outputs/${used}/url`).join(', ');
    return `    ${name}: { command: run ${name}, env: { ${env} }${name === 'web' ? ', entry: true' : ''} }\n`;
  });
  return `# ${project}\nversion: "1.0"\n${head}process:\n  services:\n${services.join('')}`;
};

const spec = (
  label: string,
  components: { readonly [name: string]: readonly string[] },
  head?: (project: ProjectId) => string,
  isWanted: (ref: SourceRef) => boolean = isPreview,
): Content => ({
  label,
  files: (project) => ({ 'eph.yaml': specText(project, components, head?.(project)) }),
  wants: (ref) => (isWanted(ref) ? 'yes' : 'no'),
  components,
});

const unusable = (label: string, text: (project: ProjectId) => string | undefined, otherwise: Wish): Content => ({
  label,
  files: (project): { readonly [path: string]: string } => {
    const file = text(project);
    return file === undefined ? { 'README.md': `# ${project}` } : { 'eph.yaml': file };
  },
  wants: (ref) => (isPreview(ref) ? 'yes' : otherwise),
  components: undefined,
});

const onTags = (project: ProjectId): string =>
  `name: ${project}\ntriggers:\n  - { type: git_tag, patterns: ["v*"] }\n  - { type: git_branch, patterns: ["preview/**"] }\n`;

const onReleases = (project: ProjectId): string =>
  `name: ${project}\ntriggers:\n  - { type: git_branch, patterns: ["release/**"] }\n`;

/** Every environment of every project asks for the same name. */
const oneName = (): string => 'name: twin\nenvironment: { name_template: "{project}" }\n';

const unknownVariable = 'name: x\nenvironment: { name_template: "{nobody}" }\n';

/** What most commits hold. */
const sound: readonly [Content, ...Content[]] = [
  spec('web', { web: [] }),
  spec('web and api', { web: [], api: [] }),
  spec('web, which uses api', { web: ['api'], api: [] }),
  spec('api, which uses web', { web: [], api: ['web'] }),
  spec('web, which uses api, which uses db', { web: ['api'], api: ['db'], db: [] }),
  spec('web, which uses api, under a name that everybody wants', { web: ['api'], api: [] }, oneName),
];

export const anySound = (random: Random): Content => random.pick(sound);

const odd: readonly [Content, ...Content[]] = [
  spec('web, for tags too', { web: [] }, onTags, (ref) => isPreview(ref) || isVersion(ref)),
  spec('web, for releases only', { web: [] }, onReleases, isRelease),
  unusable('broken YAML', () => ': not yaml [', 'unclear'),
  unusable('a name that cannot be made', (project) => specText(project, { web: [] }, unknownVariable), 'unclear'),
  { ...unusable('a reference to nobody', (project) => specText(project, { web: ['nobody'] }), 'no'), waits: true },
  unusable('a circle', (project) => specText(project, { web: ['api'], api: ['web'] }), 'no'),
  unusable('no eph.yaml', () => undefined, 'no'),
];

export const anyOdd = (random: Random): Content => random.pick(odd);

export const anyContent = (random: Random): Content => (random.chance(0.65) ? anySound(random) : anyOdd(random));
