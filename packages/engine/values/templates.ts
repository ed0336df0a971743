import {
  describeMissing,
  EphError,
  isTemplateVariable,
  parseTemplateText,
  type Source,
  showTemplate,
  type TemplateTarget,
  type TemplateValues,
  type TemplateVariable,
  takeSlice,
  toDatabaseName,
  toDnsLabel,
  toDnsName,
  toImageName,
  toImageTag,
  toPath,
  toTagPattern,
} from '@eph/contract';

/** What is rendered into a name of a form. Texts and values are not: `resolveVariables` puts in theirs as they are. */
export type NameTarget = Exclude<TemplateTarget, 'text' | 'value'>;

interface Form {
  readonly sanitize: (text: string) => string;
  /** In a value these become a dash: a branch called `x.evil.com` adds no label, `../..` leaves no folder. */
  readonly separators: RegExp;
  /** Variables whose values have parts of their own. */
  readonly whole: readonly TemplateVariable[];
}

const plain = (sanitize: (text: string) => string): Form => ({ sanitize, separators: /(?!)/g, whole: [] });

const forms: { readonly [target in NameTarget]: Form } = {
  'dns-label': plain(toDnsLabel),
  'kubernetes-name': plain(toDnsLabel),
  'dns-name': { sanitize: toDnsName, separators: /\.+/g, whole: ['base_domain'] },
  'image-name': { sanitize: toImageName, separators: /[/:.]+/g, whole: ['registry'] },
  'image-tag': plain(toImageTag),
  'tag-pattern': { sanitize: toTagPattern, separators: /[*?]+/g, whole: [] },
  'database-name': plain(toDatabaseName),
  path: { sanitize: toPath, separators: /\/+/g, whole: [] },
};

/** Puts values in for `{name}`, and makes of the whole what the target can hold. Values are not searched for variables. */
export const renderTemplate = (template: string, values: TemplateValues, target: NameTarget): string => {
  const refuse = (fault: string): EphError =>
    new EphError('spec.invalid', `template ${JSON.stringify(showTemplate(template))}: ${fault}`);
  const parsed = parseTemplateText(template, 'braces');
  if (!parsed.ok) throw refuse(parsed.fault);
  const { sanitize, separators, whole } = forms[target];
  const rendered = parsed.parts.map((part) => {
    if (typeof part === 'string') return part;
    const variable = isTemplateVariable(part.name) ? part.name : undefined;
    const value = variable === undefined || !Object.hasOwn(values, variable) ? undefined : values[variable];
    if (variable === undefined || value === undefined) throw refuse(describeMissing(part, values));
    const slice = takeSlice(value, part.slice);
    return whole.includes(variable) ? slice : slice.replace(separators, '-');
  });
  return sanitize(rendered.join(''));
};

/** What a template needs and these values lack. */
export const missingVariables = (template: string, values: TemplateValues): readonly string[] => {
  const parsed = parseTemplateText(template, 'braces');
  const names = parsed.ok ? parsed.parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name])) : [];
  return [...new Set(names)].filter((name) => !Object.hasOwn(values, name));
};

export const sourceValues = ({ ref, commit, pull }: Source): TemplateValues => {
  const branch = ref.kind === 'branch' ? ref.name : pull?.head;
  return {
    ref_type: ref.kind,
    ref_name: ref.name,
    commit_sha: commit,
    ...(branch === undefined ? {} : { branch_name: toImageTag(branch) }),
    ...(ref.kind === 'pr' ? { pr_number: ref.name } : {}),
  };
};
