import type { ConfigurationView, Layer, Spec } from '@eph/contract';

/**
 * Whether two views mean the same for the components of a spec. Whoever reads the platform's files keeps equal parts, so that the very
 * same object means that nothing changed; where a value stands does not matter.
 */
export const isSameFor = (spec: Spec | undefined, a: ConfigurationView, b: ConfigurationView): boolean => {
  if (a.mark === b.mark) return true;
  if (a.state !== b.state || !isEqualList(a.faults.map(wordOf), b.faults.map(wordOf))) return false;
  if (!('layers' in a && 'layers' in b)) return true;
  const isSamePlatform =
    isSameText(a.environment, b.environment) &&
    isSameText(a.platform, b.platform) &&
    isEqualList(a.policies.map(limitsOf), b.policies.map(limitsOf));
  if (
    !isSamePlatform ||
    !isEqualList(a.layers.defaultsOf('Deployment').map(valuesOf), b.layers.defaultsOf('Deployment').map(valuesOf))
  )
    return false;
  const names = Object.keys(spec?.process?.services ?? {});
  return names.every((name) => isEqualList(a.layers.overridesOf(name).map(valuesOf), b.layers.overridesOf(name).map(valuesOf)));
};

const isEqualList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);

/** These are put together anew from several documents, so that they are never the same object. */
const isSameText = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

const wordOf = ({ code, message }: ConfigurationView['faults'][number]): string => `${code} ${message}`;
const valuesOf = ({ values }: Layer): Layer['values'] => values;
const limitsOf = ({ limits }: { readonly limits: object }): object => limits;
