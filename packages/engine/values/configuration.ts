import type { ConfigurationLayers, ConfigurationView, Layer, SectionComponent } from '@eph/contract';

/** Whether two views mean the same for the components of a file. Readers keep equal parts, so they are compared by identity. */
export const isSameFor = (
  components: readonly Pick<SectionComponent, 'name' | 'kind'>[] = [],
  a: ConfigurationView,
  b: ConfigurationView,
): boolean => {
  if (a.mark === b.mark) return true;
  if (a.state !== b.state || !isEqualList(a.faults.map(printFailure), b.faults.map(printFailure))) return false;
  if (!('layers' in a && 'layers' in b)) return true;
  const isSamePlatform =
    isSameText(a.environment, b.environment) &&
    isSameText(a.platform, b.platform) &&
    isEqualList(a.policies.map(limitsOf), b.policies.map(limitsOf));
  const isSame = (layersOf: (of: ConfigurationLayers) => readonly Layer[]): boolean =>
    isEqualList(layersOf(a.layers).map(valuesOf), layersOf(b.layers).map(valuesOf));
  const kinds = new Set(components.map(({ kind }) => kind.name));
  return (
    isSamePlatform &&
    [...kinds].every((kind) => isSame((layers) => layers.defaultsOf(kind))) &&
    components.every(({ name }) => isSame((layers) => layers.overridesOf(name))) &&
    isEqualList(findStrayOverrides(components, a.layers), findStrayOverrides(components, b.layers))
  );
};

/** Overrides for components that the file does not have. */
export const findStrayOverrides = (
  components: readonly Pick<SectionComponent, 'name'>[],
  { overridden }: ConfigurationLayers,
): readonly string[] =>
  components.length === 0 ? [] : overridden.filter((name) => components.every((component) => component.name !== name));

const isEqualList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);

/** These are merged from several documents each time, so that they are never the same object. */
const isSameText = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b);

const printFailure = ({ code, message }: ConfigurationView['faults'][number]): string => `${code} ${message}`;
const valuesOf = ({ values }: Layer): Layer['values'] => values;
const limitsOf = ({ limits }: { readonly limits: object }): object => limits;
