import type { Report } from '@eph/engine/report/reporter';

/** Addresses with more about an environment, with placeholders such as `{name}`. */
export interface LinkTemplates {
  readonly logs?: string | undefined;
  readonly dashboard?: string | undefined;
}

const valuesOf = ({ environment, project, view }: Pick<Report, 'environment' | 'project' | 'view'>) => ({
  id: environment,
  name: view.name,
  project,
});

const names: readonly string[] = ['id', 'name', 'project'] satisfies readonly (keyof ReturnType<typeof valuesOf>)[];

export const faultOfLink = (template: string): string | undefined => {
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name).find((name) => !names.includes(name));
  if (unknown !== undefined) return `{${unknown}} is not a placeholder; use ${names.map((name) => `{${name}}`).join(', ')}`;
  const filled = template.replace(/\{\w+\}/g, 'x');
  if (!/^https?:\/\//i.test(filled) || !URL.canParse(filled)) return 'must be an address that begins with http:// or https://';
  return undefined;
};

export const fillLink = (template: string, report: Parameters<typeof valuesOf>[0]): string => {
  const values: Readonly<Record<string, string>> = valuesOf(report);
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
};
