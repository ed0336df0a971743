import { closest } from './suggest.ts';
import { type Placeholder, parseTemplateText, showTemplate, type TemplateSyntax } from './template-text.ts';

/** Everything a template can put in, with what it stands for. Not every key allows all of it, and not every source has all of it. */
export const templateVariables = {
  project: 'The name in `eph.yaml`.',
  words: 'Two words that nobody can guess, such as `serene-ocean`.',
  number: 'Four digits that nobody can guess.',
  name: 'The name of the environment.',
  pr_number: 'The number of the pull request. Branches and tags have none.',
  ref_type: '`pr`, `branch` or `tag`.',
  ref_name: 'The number of the pull request, or the name of the branch or tag.',
  branch_name: 'The name of the branch, with dashes for what an image tag cannot hold. Tags have none.',
  commit_sha: 'The commit, in full; `{commit_sha:0:7}` are its first seven characters.',
  base_domain: 'The domain under which environments are reached.',
  environment_name: 'The name of the environment; the same as `name`.',
  environment_url: 'Where the environment is reached.',
  registry: 'The registry that the platform offers.',
} as const satisfies Readonly<Record<string, string>>;

export type TemplateVariable = keyof typeof templateVariables;

/** What one environment has. A variable that its source does not have is left out. */
export type TemplateValues = { readonly [variable in TemplateVariable]?: string };

/**
 * What a result must be. All but the last two are sanitised for where they go and never exceed its limit.
 * - `text`: a command; takes `{name}` and `${NAME}`.
 * - `value`: text that takes `${NAME}` alone, and in which braces are text.
 */
export type TemplateTarget =
  | 'dns-label'
  | 'dns-name'
  | 'kubernetes-name'
  | 'image-name'
  | 'image-tag'
  | 'tag-pattern'
  | 'database-name'
  | 'path'
  | 'text'
  | 'value';

const fromSource = ['project', 'ref_type', 'ref_name', 'branch_name', 'pr_number', 'commit_sha'] as const;
const fromEnvironment = [...fromSource, 'name', 'environment_name'] as const;
const inValues = [...fromEnvironment, 'environment_url', 'base_domain', 'registry'] as const;
// Without `ref_name`: a ref may be called `$(reboot)` or `evil.com/`, and these go through shells or name hosts.
const inCommands = inValues.filter((variable) => variable !== 'ref_name');
// Without what others choose: a branch called `evil.com` could name the registry.
const inImageNames = ['registry', 'project'] as const;

/** The keys of `eph.yaml` that are templates: what each becomes, and what it may put in. Short forms are as their long ones. */
export const templateKeys = {
  'environment.name_template': { target: 'dns-label', variables: ['project', 'words', 'number', ...fromSource.slice(1)] },
  'environment.subdomain_template': {
    target: 'dns-name',
    variables: [...fromEnvironment, 'words', 'number', 'base_domain'],
  },
  'environment.base_domain': { target: 'value', variables: [] },
  'environment.alias_template': { target: 'dns-label', variables: fromEnvironment },
  'environment.env': { target: 'value', variables: inValues },
  'environment.images.repository': { target: 'image-name', variables: inImageNames },
  'environment.images.tag_template': { target: 'image-tag', variables: fromEnvironment },
  'environment.images.tag_pattern': { target: 'tag-pattern', variables: fromEnvironment },
  'environment.images.required_labels': { target: 'text', variables: inValues },
  'kubernetes.context': { target: 'value', variables: [] },
  'kubernetes.namespace_template': { target: 'kubernetes-name', variables: [...fromEnvironment, 'words', 'number'] },
  'kubernetes.images.newName': { target: 'image-name', variables: inImageNames },
  'kubernetes.images.newTag': { target: 'image-tag', variables: fromEnvironment },
  'database.instances.template.snapshot.source': { target: 'value', variables: [] },
  'database.instances.connection.database': { target: 'database-name', variables: fromEnvironment },
  'services.endpoint': { target: 'value', variables: inCommands },
  'secrets.vault.path': { target: 'path', variables: fromEnvironment },
  'security.environment_access.protection.basic_auth.password': { target: 'value', variables: [] },
  'networking.routing.path_prefix': { target: 'path', variables: fromEnvironment },
  'hooks.command': { target: 'text', variables: inCommands },
  'observability.logs.ship_to': { target: 'value', variables: inValues },
} as const satisfies Readonly<
  Record<string, { readonly target: TemplateTarget; readonly variables: readonly TemplateVariable[] }>
>;

export type TemplateKey = keyof typeof templateKeys;

export const findTemplateFault = (
  text: string,
  allowed: readonly TemplateVariable[],
  target: TemplateTarget = 'dns-label',
): string | undefined => {
  const parsed = parseTemplateText(text, syntaxOf(target));
  if (!parsed.ok) return parsed.fault;
  for (const part of parsed.parts) {
    const fault = typeof part === 'string' || isServerVariable(part) ? undefined : findUnknown(part, allowed, target);
    if (fault !== undefined) return fault;
  }
  return undefined;
};

export const findTemplateFaultAt = (key: TemplateKey, text: string): string | undefined =>
  findTemplateFault(text, templateKeys[key].variables, templateKeys[key].target);

export const syntaxOf = (target: TemplateTarget): TemplateSyntax =>
  target === 'value' ? 'dollar' : target === 'text' ? 'both' : 'braces';

/** Capitals belong to the server, small letters to Eph, so that neither can ever hide the other. */
export const serverVariableName = /^[A-Z_][A-Z0-9_]*$/;

export const isServerVariable = ({ name, written }: Placeholder): boolean =>
  written.startsWith('$') && serverVariableName.test(name);

export const isTemplateVariable = (name: string): name is TemplateVariable => Object.hasOwn(templateVariables, name);

const findUnknown = (
  placeholder: Placeholder,
  allowed: readonly TemplateVariable[],
  target: TemplateTarget,
): string | undefined => {
  const { name, written } = placeholder;
  if ((allowed as readonly string[]).includes(name)) return undefined;
  const wrong = isTemplateVariable(name) ? 'cannot be used here' : 'is not known here';
  const near = closest(name, allowed);
  const meant = near === undefined ? '' : `did you mean ${dress(near, written)}? `;
  const choice = allowed.length === 0 ? [] : [`${meant}allowed: ${allowed.map((one) => dress(one, written)).join(', ')}`];
  return `${showTemplate(written)} ${wrong}; ${[...choice, ...otherwise(written, target)].join('; ')}`;
};

const dress = (name: string, written: string): string => (written.startsWith('$') ? `\${${name}}` : `{${name}}`);

const otherwise = (written: string, target: TemplateTarget): readonly string[] => {
  if (written.startsWith('$'))
    return ['variables of the server are written in capitals', `for the text itself write ${showTemplate(`$${written}`)}`];
  return target === 'text' ? [`for the text itself write ${showTemplate(`{${written}}`)}`] : [];
};
