import { type ConfigView, type JsonValue, type Layer, redact, type SectionComponent } from '@eph/contract';
import { type ComponentInput, createVariableContext, sharedInput } from './components.ts';
import { isMap, type Origins, originOf } from './layers.ts';
import { looksSecret, mask } from './masks.ts';
import { type MergedComponent, readVariables, type Variable } from './merged-component.ts';
import { findPlace, valueAt } from './origin.ts';
import { parseReference } from './references.ts';
import { isMade, SharedValues } from './shared-values.ts';
import { resolveVariable, type VariableContext } from './variables.ts';

export type ExplainedComponent = ConfigView['components'][number];
type ExplainedValue = ExplainedComponent['values'][number];
type Shown = Pick<ExplainedValue, 'value' | 'secret' | 'reference'>;

/** Every value with its origin and what lower layers give, also where values are at fault. Secrets are masked from here on. */
export const explainComponents = (input: ComponentInput, shared = new SharedValues()): readonly ExplainedComponent[] => {
  const merged = shared.merge(input.file, sharedInput(input));
  const context = createVariableContext(input, merged);
  return merged.filter(isMade).map((component) => {
    const { name, kind, section } = component.declared;
    const provider = input.providers.of(component.declared)?.name ?? section.provider ?? section.name;
    return { name, kind: kind.name, provider, values: explainValues(component, context) };
  });
};

const explainValues = (component: MergedComponent, context: VariableContext): ExplainedValue[] => {
  const { kind } = component.declared;
  const variables = new Map(readVariables(component).map((variable) => [variable.name, variable]));
  return leavesOf(component.values, component.origins, []).flatMap(({ path, value, origin }) => {
    const layer = component.layers[origin];
    const variable = isVariable(path) ? variables.get(path[1] ?? '') : undefined;
    if (layer === undefined) return [];
    return [
      {
        path: [...path],
        ...(variable === undefined ? showPlain(path, value) : showVariable(variable, value, context)),
        used:
          kind.used?.some((key) => `${path.join('.')}.`.startsWith(`${key}.`)) !== false && variable?.content.kind !== 'left-out',
        origin: showOrigin(layer, path),
        below: component.layers
          .slice(0, origin)
          .toReversed()
          .flatMap((lower) => showBelow(lower, path, kind, context)),
      },
    ];
  });
};

interface Leaf {
  readonly path: readonly string[];
  readonly value: JsonValue;
  readonly origin: number;
}

const leavesOf = (value: JsonValue, origins: Origins, path: readonly string[]): readonly Leaf[] => {
  if (isMap(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, originOf(origins, key), [...path, key]));
  return typeof origins === 'number' ? [{ path, value, origin: origins }] : [];
};

const isVariable = (path: readonly string[]): boolean => path.length === 2 && path[0] === 'env';

const showVariable = (variable: Variable, written: JsonValue, context: VariableContext): Shown => {
  const { name, content } = variable;
  const resolved = resolveVariable(variable, context);
  const value = resolved.state === 'literal' ? redact(resolved.value) : null;
  if (content.kind === 'reference' || content.kind === 'left-out') {
    const { type, text } = content.reference;
    const isPrivate = type !== 'outputs';
    return { value: isPrivate ? text : value, secret: isPrivate && type !== 'configs', reference: text };
  }
  if (looksSecret(name) || (resolved.state === 'literal' && resolved.secret === true))
    return { value: mask, secret: true, reference: null };
  return { value: value ?? show(written), secret: false, reference: null };
};

const showPlain = (path: readonly string[], value: JsonValue): Shown => {
  const secret = looksSecret(path.at(-1) ?? '');
  return { value: secret ? mask : show(value), secret, reference: null };
};

/** What a lower layer gives at the same path. Of alternatives only one can hold, so another one is shown in its place. */
const showBelow = (
  layer: Layer,
  path: readonly string[],
  { alternatives = {} }: SectionComponent['kind'],
  context: VariableContext,
): ExplainedValue['below'] => {
  const [key = '', option = ''] = path;
  const options = path.length === 2 && Object.hasOwn(alternatives, key) ? (alternatives[key] ?? []) : [];
  const paths = options.includes(option) ? options.map((one) => [key, one]) : [path];
  return paths.flatMap((one) => {
    const value = valueAt(layer.values, one);
    // A developer's null means nothing.
    if (value === undefined || (value === null && layer.source.layer === 'developer')) return [];
    return [{ value: showLower(layer, one, value, context), origin: showOrigin(layer, one) }];
  });
};

const showLower = (layer: Layer, path: readonly string[], value: JsonValue, context: VariableContext): JsonValue => {
  const name = path.at(-1) ?? '';
  if (!isVariable(path) || layer.source.layer !== 'default' || typeof value !== 'string') return showKey(name, value);
  const resolved = resolveVariable({ name, layer, content: { kind: 'text', text: value } }, context);
  return resolved.state === 'literal' ? resolved.value : value;
};

const showOrigin = ({ source }: Layer, path: readonly string[]): ExplainedValue['origin'] => {
  const place = findPlace(source, path);
  return {
    layer: source.layer,
    file: source.file,
    line: place?.line ?? null,
    column: place?.column ?? null,
    commit: source.commit,
    path: place?.path ?? path.join('.'),
  };
};

const showKey = (key: string, value: JsonValue): JsonValue => {
  const isReference = typeof value === 'string' && parseReference(value).kind === 'reference';
  return looksSecret(key) && value !== null && !isReference ? mask : show(value);
};

const show = (value: JsonValue): JsonValue => {
  if (typeof value === 'string') return redact(value);
  if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, showKey(key, inner)]));
  return Array.isArray(value) ? value.map(show) : value;
};
