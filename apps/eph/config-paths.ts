import { type ConfigView, closest } from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import { exitCodes } from './exit-codes.ts';

/** Which values of an environment somebody means who writes `web.env.API_URL`, `web.env` or, of every component, `env`. */

export type ConfigComponent = ConfigView['components'][number];
export type ConfigValue = ConfigComponent['values'][number];

export interface Selection {
  readonly components: readonly ConfigComponent[];
  /** The path names these values themselves rather than something around them. */
  readonly exact: boolean;
}

export const selectValues = (components: readonly ConfigComponent[], text: string): Selection => {
  // With the name of a component first; only a path that means nothing so is looked for in every component.
  const named = choose(components, text, fullPath);
  const chosen = named.length > 0 ? named : choose(components, text, ({ path }) => path.join('.'));
  if (chosen.length === 0) throw unknownPath(components, text);
  const values = chosen.flatMap((component) => component.values.map((value) => ({ component, value })));
  const exact = values.every(({ component, value }) => [fullPath(value, component), value.path.join('.')].includes(text));
  return { components: chosen, exact };
};

/** Keys hold dots now and then (`prometheus.io/port`), so paths are compared as they are written. */
const fullPath = ({ path }: ConfigValue, { name }: ConfigComponent): string => [name, ...path].join('.');

const choose = (
  components: readonly ConfigComponent[],
  text: string,
  pathOf: (value: ConfigValue, component: ConfigComponent) => string,
): readonly ConfigComponent[] =>
  components
    .map((component) => ({
      ...component,
      values: component.values.filter((value) => {
        const path = pathOf(value, component);
        return path === text || path.startsWith(`${text}.`);
      }),
    }))
    .filter(({ values }) => values.length > 0);

const unknownPath = (components: readonly ConfigComponent[], text: string): CommandFailure => {
  const known = new Set(components.flatMap((component) => component.values.flatMap((value) => pathsTo(value, component))));
  const near = closest(text, [...known]);
  const message = `There is no value ${JSON.stringify(text)}. ${near === undefined ? listNearby(components, known, text) : `Did you mean ${near}?`}`;
  return new CommandFailure('cli.no_such_value', message, { exitCode: exitCodes.notFound });
};

/** Itself and everything around it, with the component and without. */
const pathsTo = ({ path }: ConfigValue, { name }: ConfigComponent): readonly string[] =>
  [[name, ...path], path].flatMap((steps) => steps.map((_, index) => steps.slice(0, index + 1).join('.')));

const mostShown = 20;

const listNearby = (components: readonly ConfigComponent[], known: ReadonlySet<string>, text: string): string => {
  const steps = text.split('.');
  const within = steps.map((_, index) => steps.slice(0, -1 - index).join('.')).find((prefix) => known.has(prefix));
  if (within === undefined) return `The components are: ${clip(components.map(({ name }) => name))}.`;
  const below = [...known].filter((path) => path.startsWith(`${within}.`)).map((path) => path.slice(within.length + 1));
  return `${within} has: ${clip([...new Set(below.map((path) => path.split('.')[0] ?? ''))])}.`;
};

const clip = (names: readonly string[]): string =>
  names.length > mostShown ? `${names.slice(0, mostShown).join(', ')} and ${names.length - mostShown} more` : names.join(', ');
