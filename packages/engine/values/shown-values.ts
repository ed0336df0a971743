import { asText, type JsonMap, type JsonValue, type ResolvedComponent, redact } from '@eph/contract';
import { isMap } from './layers.ts';
import { looksSecret, mask } from './masks.ts';

/** What the provider of a component is given, for people: what may be a secret is masked. */
export const showValues = ({ values }: ResolvedComponent): JsonMap => {
  const { secretEnv, secrets, ...others } = values;
  return {
    ...(show(others) as JsonMap),
    ...(isMap(secretEnv) && { secretEnv: maskAll(secretEnv) }),
    ...(isMap(secrets) && { secrets: maskAll(secrets) }),
  };
};

const show = (value: JsonValue): JsonValue => {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map(show);
  if (!isMap(value)) return value;
  const isSecret = value['kind'] === 'Secret';
  const isVariable = typeof value['name'] === 'string' && looksSecret(asText(value['name']));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (isSecret && (key === 'data' || key === 'stringData')) return [key, isMap(inner) ? maskAll(inner) : mask];
      if (key === 'env' && isMap(inner)) return [key, showVariables(inner)];
      return [key, isVariable && key === 'value' && inner !== null ? mask : show(inner)];
    }),
  );
};

/** As providers other than Kubernetes are given them. */
const showVariables = (variables: JsonMap): JsonMap =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, looksSecret(name) ? mask : show(value)]));

const maskAll = (map: JsonMap): JsonMap => Object.fromEntries(Object.keys(map).map((key) => [key, mask]));
