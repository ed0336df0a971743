import { type JsonSchema, specJsonSchema, type TemplateVariable, templateKeys, templateVariables } from '@eph/contract';
import { introduction } from './eph-yaml-introduction.ts';

/** `docs/eph-yaml.md`: what people must know first, then every key, from the schema that ephd itself checks files with. */
export const renderReferencePage = (): string => {
  const { properties = {} } = specJsonSchema();
  const isSection = ([, schema]: readonly [string, JsonSchema]): boolean => collectionOf(schema) !== undefined;
  const sections = Object.entries(properties).filter(isSection);
  const scalars = Object.entries(properties).filter((entry) => !isSection(entry));
  return `${[
    introduction.trim(),
    '## Every key',
    'A key that ends in `[]` is an entry of a list, `<name>` stands for a name of your own.',
    renderTable(
      keyColumns,
      scalars.map(([key, schema]) => row(key, schema)),
    ),
    ...sections.flatMap(([key, schema]) => renderSection(key, schema)),
    ...renderTemplates(),
  ].join('\n\n')}\n`;
};

const keyColumns = ['key', 'value', 'meaning'];

type Row = readonly string[];

const renderSection = (key: string, schema: JsonSchema): readonly string[] => {
  const heading = [`### ${key}`, schema.description ?? ''];
  const options = schema.items?.oneOf;
  if (options === undefined) return [...heading, renderTable(keyColumns, rowsBelow('', schema))];
  return [...heading, ...options.flatMap((option) => renderOption(key, option))];
};

const renderOption = (key: string, option: JsonSchema): readonly string[] => {
  const { type, ...properties } = option.properties ?? {};
  return [
    `**\`type: ${String(type?.const)}\`** ${option.description ?? ''}`,
    renderTable(keyColumns, rowsBelow(`${key}[]`, { ...option, properties })),
  ];
};

const row = (path: string, schema: JsonSchema): Row => [`\`${path}\``, printForm(schema), schema.description ?? ''];

/** The keys inside a value, each with the keys inside it. Of a short and a long form the long one has them. */
const rowsBelow = (path: string, schema: JsonSchema): readonly Row[] => {
  const { properties = {}, additionalProperties, items } = collectionOf(schema) ?? {};
  const entries = Object.entries(properties).flatMap(([key, property]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [row(at, property), ...rowsBelow(at, property)];
  });
  const named =
    additionalProperties === undefined || additionalProperties === false ? [] : rowsBelow(`${path}.<name>`, additionalProperties);
  return [...entries, ...named, ...(items === undefined ? [] : rowsBelow(`${path}[]`, items))];
};

const collectionOf = (schema: JsonSchema): JsonSchema | undefined =>
  [schema, ...(schema.anyOf ?? [])].find((one) => one.properties ?? one.additionalProperties ?? one.items);

const printForm = (schema: JsonSchema): string => {
  const { const: only, enum: values, anyOf, type, title, items } = schema;
  if (only !== undefined) return code(only);
  if (values !== undefined) return values.map(code).join(', ');
  if (title !== undefined) return title;
  if (anyOf !== undefined) return [...new Set(anyOf.map(printForm))].join(' or ');
  if (items !== undefined) return printList(printForm(items));
  return forms[String(type)] ?? 'text';
};

const printList = (entry: string): string => (entry === 'map' ? 'list of maps' : entry === 'text' ? 'list' : `list: ${entry}`);

const forms: { readonly [type: string]: string } = {
  string: 'text',
  boolean: '`true` or `false`',
  integer: 'number',
  number: 'number',
  object: 'map',
};

const code = (value: unknown): string =>
  `\`${typeof value === 'string' && /^[\d.]+$/.test(value) ? `"${value}"` : String(value)}\``;

const renderTemplates = (): readonly string[] => [
  '## Variables of templates',
  renderTable(
    ['variable', 'stands for'],
    Object.entries(templateVariables).map(([name, meaning]) => [`\`{${name}}\``, meaning]),
  ),
  renderTable(
    ['key', 'may use'],
    Object.entries(templateKeys)
      .filter(([, { variables }]) => variables.length > 0)
      .map(([key, { target, variables }]) => [`\`${key}\``, printVariables(variables, target)]),
  ),
];

/** Values hold braces of their own, so that their variables carry a dollar. */
const printVariables = (variables: readonly TemplateVariable[], target: string): string =>
  variables.map((name) => (target === 'value' ? `\`\${${name}}\`` : `\`{${name}}\``)).join(' ');

const renderTable = (columns: readonly string[], rows: readonly Row[]): string => {
  const table = [columns, ...rows].map((cells) => cells.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = columns.map((_, column) => Math.max(3, ...table.map((cells) => cells[column]?.length ?? 0)));
  const lines = table.map((cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
};
