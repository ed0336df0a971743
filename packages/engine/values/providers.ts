import {
  type Failure,
  failure,
  type ObservedComponent,
  type ProviderName,
  printFault,
  type SectionComponent,
  type ServerVariables,
} from '@eph/contract';
import type { SpecFile } from './component-layers.ts';
import { isOfContext, type KubernetesContext, readContext, refuseContext } from './kubernetes-context.ts';

export interface AvailableProvider {
  readonly name: ProviderName;
  /** What it is, such as `process`. */
  readonly type: string;
  readonly holdsSecrets: boolean;
  /** Of the images it runs, such as `linux/amd64`; undefined where that is not known. */
  readonly platform?: string | undefined;
}

export interface ChosenProviders {
  /** The section that a provider was chosen for; undefined when there is no such provider. */
  readonly choice: string | undefined;
  readonly of: (component: SectionComponent) => AvailableProvider | undefined;
  /** Each once, with the key of `eph.yaml` that asks for it. */
  readonly used: readonly { readonly provider: AvailableProvider; readonly path: readonly string[] }[];
  readonly faults: readonly Failure[];
  readonly remarks: readonly string[];
}

/**
 * By name, or else the first of the type; of clusters the one that `kubernetes.context` names. An environment stays where it is for as
 * long as its file allows it.
 *
 * @param variables of the project; undefined where they are not known
 */
export const chooseProviders = (
  file: SpecFile,
  providers: readonly AvailableProvider[],
  observed: readonly ObservedComponent[],
  variables: ServerVariables | undefined,
): ChosenProviders => {
  const holders = new Set(observed.map(({ provider }) => provider));
  const choose = (candidates: readonly AvailableProvider[]): AvailableProvider | undefined =>
    candidates.find(({ name }) => holders.has(name)) ?? candidates[0];
  const faults: Failure[] = [];
  const has = `this server has ${providers.map(({ name, type }) => (name === type ? name : `${name} (${type})`)).join(', ')}`;
  const { primary, fallback = primary } = file.spec.providers;
  const context = readContext(file, variables);
  const refused = findContextFault(file, providers, context);
  const first = findProviders(primary, providers, context);
  const chosen = refused === undefined ? choose([...first, ...findProviders(fallback, providers, context)]) : undefined;
  const isFallback = chosen !== undefined && !first.includes(chosen);
  if (refused !== undefined) faults.push(refused);
  else if (chosen === undefined) faults.push(failure('provider.unknown', `provider ${primary} is not configured here; ${has}`));
  else if (!file.choices.includes(chosen.type)) faults.push(withoutSection(file, chosen, isFallback));
  const others = new Map<string, AvailableProvider>();
  for (const { name, provider: type, choice } of new Set(file.components.map(({ section }) => section))) {
    if (choice === true || type === undefined) continue;
    const found = choose(providers.filter((one) => one.type === type));
    if (found === undefined) faults.push(failure('provider.unknown', `${name} needs a provider of type ${type}; ${has}`));
    else others.set(name, found);
  }
  return {
    choice: chosen?.type,
    of: ({ section }) => (section.choice === true ? chosen : others.get(section.name)),
    used: [
      ...(chosen === undefined ? [] : [{ provider: chosen, path: ['providers', isFallback ? 'fallback' : 'primary'] }]),
      ...Array.from(others, ([name, provider]) => ({ provider, path: [name] })),
    ],
    faults,
    remarks: isFallback ? [describeFallback(primary, fallback, first.length > 0)] : [],
  };
};

type Found = readonly AvailableProvider[];

const findProviders = (asked: string, providers: Found, context?: KubernetesContext): Found => {
  const named = providers.find(({ name }) => name === asked);
  const found = named === undefined ? providers.filter(({ type }) => type === asked) : [named];
  return found.filter((one) => isOfContext(one, context));
};

/** The file asks for a cluster and names one that is not it. */
const findContextFault = (file: SpecFile, providers: Found, context: KubernetesContext | undefined): Failure | undefined => {
  if (context === undefined) return undefined;
  const { primary, fallback = primary } = file.spec.providers;
  const refused = [primary, fallback].find((asked) => {
    const found = findProviders(asked, providers);
    return found.length > 0 && findProviders(asked, providers, context).length === 0;
  });
  const clusters = providers.flatMap(({ name, type }) => (type === 'kubernetes' ? [name] : []));
  return refused === undefined ? undefined : refuseContext(file, context, refused, clusters);
};

const withoutSection = ({ spec, places }: SpecFile, { name, type }: AvailableProvider, isFallback: boolean): Failure => {
  const path = ['providers', isFallback ? 'fallback' : 'primary'];
  const missing = Object.hasOwn(spec, type) ? `${type} is no section to choose` : `eph.yaml has no section ${type}`;
  const message = `provider ${name} is of type ${type}, and ${missing}`;
  const place = places.at(path) ?? { line: 1, column: 1 };
  return failure('spec.invalid', printFault({ file: places.file, ...place, path: path.join('.'), message }));
};

const describeFallback = (primary: string, fallback: string, isBack: boolean): string =>
  isBack
    ? `fallback ${fallback} is still used; an environment moves to provider ${primary} only when eph.yaml changes its choice`
    : `provider ${primary} is not configured here; fallback ${fallback} is used`;
