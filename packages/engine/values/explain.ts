import { type ConfigView, type JsonValue, type Layer, redact } from '@eph/contract';
import { serviceKind } from './component-layers.ts';
import { type ComponentInput, layerInput, usedKeys, variableWorld } from './components.ts';
import { isMap, type Origins, originOf } from './layers.ts';
import { type MergedService, probes, readVariables, type Variable } from './merged-service.ts';
import { findPlace, valueAt } from './origin.ts';
import { Preparations } from './prepare.ts';
import { parseReference } from './references.ts';
import { resolveVariable, type VariableWorld } from './variables.ts';

export type ExplainedComponent = ConfigView['components'][number];
type ExplainedValue = ExplainedComponent['values'][number];
type Shown = Pick<ExplainedValue, 'value' | 'secret' | 'reference'>;

/** What stands for a value that nobody is shown. */
const mask = '••••••';

/**
 * Every value of every component with the place it comes from and what the layers below say instead, also where the values are not
 * sound. Secrets are masked here, so that nobody after this has them.
 */
export const explainComponents = (input: ComponentInput, preparations = new Preparations()): readonly ExplainedComponent[] => {
  const world = variableWorld(input);
  return preparations.merge(input.spec, layerInput(input)).map((service) => ({
    name: service.name,
    kind: serviceKind,
    provider: input.provider.name,
    values: explainValues(service, world),
  }));
};

const explainValues = (service: MergedService, world: VariableWorld): ExplainedValue[] => {
  const variables = new Map(readVariables(service).map((variable) => [variable.name, variable]));
  return leavesOf(service.values, service.origins, []).flatMap(({ path, value, origin }) => {
    const layer = service.layers[origin];
    const variable = isVariable(path) ? variables.get(path[1] ?? '') : undefined;
    if (layer === undefined) return [];
    return [
      {
        path: [...path],
        ...(variable === undefined ? showPlain(path, value) : showVariable(variable, value, world)),
        used: usedKeys.has(path[0] ?? '') && variable?.said.kind !== 'left-out',
        origin: showOrigin(layer, path),
        below: service.layers
          .slice(0, origin)
          .toReversed()
          .flatMap((lower) => showBelow(lower, path, world)),
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

const showVariable = (variable: Variable, written: JsonValue, world: VariableWorld): Shown => {
  const { name, said } = variable;
  const resolved = resolveVariable(variable, world);
  const value = resolved.state === 'literal' ? redact(resolved.value) : null;
  if (said.kind === 'reference' || said.kind === 'left-out') {
    const { type, text } = said.reference;
    const isPrivate = type !== 'outputs';
    return { value: isPrivate ? text : value, secret: isPrivate && type !== 'configs', reference: text };
  }
  if (looksSecret(name) || (resolved.state === 'literal' && resolved.secret !== undefined))
    return { value: mask, secret: true, reference: null };
  return { value: value ?? show(written), secret: false, reference: null };
};

const showPlain = (path: readonly string[], value: JsonValue): Shown => {
  const secret = looksSecret(path.at(-1) ?? '');
  return { value: secret ? mask : show(value), secret, reference: null };
};

/** What a lower layer says at the same path. Of the ways to tell readiness only one can hold, so another one is said in its stead. */
const showBelow = (layer: Layer, path: readonly string[], world: VariableWorld): ExplainedValue['below'] => {
  const isProbe = path.length === 2 && path[0] === 'ready' && probes.includes(path[1] ?? '');
  const paths = isProbe ? probes.map((probe) => ['ready', probe]) : [path];
  return paths.flatMap((one) => {
    const value = valueAt(layer.values, one);
    // A developer's null is nothing said.
    if (value === undefined || (value === null && layer.source.layer === 'developer')) return [];
    return [{ value: showLower(layer, one, value, world), origin: showOrigin(layer, one) }];
  });
};

const showLower = (layer: Layer, path: readonly string[], value: JsonValue, { builtIn }: VariableWorld): JsonValue => {
  const name = path.at(-1) ?? '';
  if (isVariable(path) && layer.source.layer === 'default') return builtIn[name as keyof VariableWorld['builtIn']];
  return showKey(name, value);
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

const secretName =
  /pass(word|wd|phrase|code)|(^|[_-])(pass|pwd|key)($|[_-])|secret|token|credential|(api|access|private|signing|encryption|license)[_-]?key/i;

/** Names lie less often than people forget to say that something is a secret. */
const looksSecret = (name: string): boolean => secretName.test(name);
