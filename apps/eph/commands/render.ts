import type { RenderedView } from '@eph/contract';
import { stringify } from 'yaml';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { shortCommit } from '../figures.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { safeLine, safeLines } from '../safe-text.ts';

export interface RenderOptions {
  readonly component?: string;
}

/** YAML on standard output, which other programs can read; what is missing is a comment in it. */
export const render = async (context: Context, name: string | undefined, { component }: RenderOptions): Promise<void> => {
  const { client, print } = context;
  const { id } = await findNamedOrCurrent(context, name);
  const view = await client.readRendered({ path: { id } });
  const components = view.components.filter((one) => component === undefined || one.name === component);
  if (component !== undefined && components.length === 0) {
    const names = view.components.map((one) => one.name).join(', ');
    throw new CommandFailure(
      'cli.no_component',
      `${view.name} has no component ${JSON.stringify(component)}; it has: ${names || 'none'}`,
      { exitCode: exitCodes.notFound },
    );
  }
  const shown = { ...view, components };
  await print(shown, () => renderView(shown));
};

type Component = RenderedView['components'][number];

const renderView = ({ name, commit, components, problems }: RenderedView): string[] => [
  `# ${safeLine(name)}${commit === null ? '' : ` at ${shortCommit(commit)}`}`,
  ...problems.map((problem) => `# problem: ${safeLine(problem)}`),
  ...components.flatMap(renderComponent),
];

const renderComponent = ({ name, provider, waits, values }: Component): string[] => {
  if (values === null) return ['---', `# ${safeLine(name)} waits: ${safeLine(waits ?? '')}`];
  const { objects, ...settings } = values;
  const heading = `# ${safeLine(name)} by ${safeLine(provider)}`;
  if (!Array.isArray(objects)) return ['---', heading, ...print(values)];
  const more = Object.keys(settings).length === 0 ? [] : print(settings).map((line) => `#   ${line}`);
  const documents = objects.flatMap((object) => ['---', ...print(object)]);
  return documents.length === 0 ? ['---', heading, ...more] : ['---', heading, ...more, ...documents.slice(1)];
};

const print = (value: unknown): string[] =>
  safeLines(stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd()).split('\n');
