import {
  asList,
  asMap,
  isEphError,
  isWorkload,
  type JsonMap,
  type JsonValue,
  at as objectAt,
  parseQuantity,
  podTemplatePath,
  resolveVariables,
  type ServerVariables,
  type TemplateValues,
} from '@eph/contract';
import { hostOf } from './allow-lists.ts';
import { commonPath, commonValues, type SpecFile } from './component-layers.ts';
import { type MergedComponent, whereIs } from './merged-component.ts';
import { statedObjects } from './objects.ts';
import { valueAt } from './origin.ts';
import type { ComponentFacts, PolicyFacts, Stated } from './policy.ts';
import type { ChosenProviders } from './providers.ts';
import { missingVariables, type NameTarget, renderTemplate } from './templates.ts';
import { findEntry, imageSlots } from './wanted-images.ts';

export interface PolicyInput {
  readonly file: SpecFile;
  readonly providers: ChosenProviders;
  readonly components: readonly MergedComponent[];
  readonly values?: TemplateValues | undefined;
  readonly variables?: ServerVariables | undefined;
  readonly environments?: PolicyFacts['environments'];
}

/** What of an environment a policy can limit. Templates whose variables are not known here are left out. */
export const policyFactsOf = (input: PolicyInput): PolicyFacts => {
  const { ttl, idle_timeout } = input.file.spec.environment;
  return {
    ttl: ttl === undefined ? undefined : stated(input, ['environment', 'ttl'], ttl),
    idleTimeout: idle_timeout === undefined ? undefined : stated(input, ['environment', 'idle_timeout'], idle_timeout),
    hooks: hookTimes(input),
    providers: providersOf(input),
    images: imagesOf(input),
    objects: statedObjects(input.components),
    hosts: hostsOf(input),
    endpoints: endpointsOf(input),
    components: componentsOf(input),
    environments: input.environments,
  };
};

type Path = readonly (string | number)[];

const stated = <T>({ file }: PolicyInput, path: Path, value: T): Stated<T> => ({
  path: path.join('.'),
  value,
  where: () => placeOf(file, path),
});

const placeOf = ({ places }: SpecFile, path: Path): string | undefined => {
  const place = places.at(path);
  return place === undefined ? undefined : `${places.file}:${place.line}`;
};

const hookTimes = (input: PolicyInput): readonly Stated<number>[] =>
  Object.entries(input.file.spec.hooks ?? {}).flatMap(([phase, hooks = []]) =>
    hooks.flatMap(({ timeout }, index) =>
      timeout === undefined ? [] : [stated(input, ['hooks', phase, index, 'timeout'], timeout)],
    ),
  );

/** A policy allows a provider by its name or by its type. */
const providersOf = (input: PolicyInput): readonly Stated<string>[] =>
  input.providers.used.map(({ provider, path }) => ({
    ...stated(input, path, provider.name),
    alias: provider.type,
    // Without a key that names it, its section asks for it.
    where: () => placeOf(input.file, path) ?? placeOf(input.file, [provider.type]),
  }));

const imagesOf = (input: PolicyInput): readonly Stated<string>[] => {
  const { environment, kubernetes } = input.file.spec;
  return [
    ...(environment.images ?? []).flatMap(({ repository }, index) =>
      rendered(input, ['environment', 'images', index, 'repository'], repository, 'image-name'),
    ),
    ...(kubernetes?.images ?? []).flatMap(({ newName }, index) =>
      rendered(input, ['kubernetes', 'images', index, 'newName'], newName, 'image-name'),
    ),
    ...input.components.flatMap((component) =>
      imageSlots(component.values).flatMap((slot) => {
        if (findEntry(component, slot, { file: input.file, values: input.values ?? {} }) !== -1) return [];
        const { path, text } = slot;
        return [{ path: `${component.declared.name}.${slot.slot}`, value: text, where: () => whereIs(component, path) }];
      }),
    ),
  ];
};

const hostsOf = (input: PolicyInput): readonly Stated<string>[] => {
  const { subdomain_template, base_domain } = input.file.spec.environment;
  if (subdomain_template === undefined && base_domain === undefined) return [];
  const { base_domain: platform, ...others } = input.values ?? {};
  const domain = base_domain === undefined ? platform : resolve(input, base_domain)?.text;
  const values = domain === undefined ? others : { ...others, base_domain: domain };
  const path = ['environment', subdomain_template === undefined ? 'base_domain' : 'subdomain_template'];
  return rendered({ ...input, values }, path, subdomain_template ?? '{name}.{base_domain}', 'dns-name');
};

const endpointsOf = (input: PolicyInput): readonly Stated<string>[] =>
  (input.file.spec.services ?? []).flatMap((service, index): readonly Stated<string>[] => {
    const address = service.type === 'external' ? resolve(input, service.endpoint) : undefined;
    if (address === undefined) return [];
    const shown = address.secret ? 'a secret' : (hostOf(address.text) ?? 'no address with a host');
    return [{ ...stated(input, ['services', index, 'endpoint'], address.text), shown }];
  });

const rendered = (
  input: PolicyInput,
  path: Path,
  template: string | undefined,
  target: NameTarget,
): readonly Stated<string>[] => {
  const { values = {} } = input;
  if (template === undefined || missingVariables(template, values).length > 0) return [];
  return [stated(input, path, renderTemplate(template, values, target))];
};

/** Undefined when a variable is not known here. */
const resolve = ({ variables, values }: PolicyInput, text: string): ReturnType<typeof resolveVariables> | undefined => {
  try {
    return resolveVariables(text, variables ?? {}, values ?? {});
  } catch (error) {
    // It is a fault where the text is used.
    if (isEphError(error)) return undefined;
    throw error;
  }
};

const componentsOf = ({ file, components }: PolicyInput): readonly ComponentFacts[] => {
  // What prepares them ends before they run, within what the environment may use.
  const running = components.filter(({ declared }) => declared.preparation !== true);
  if (running.length > 0) return running.map((component) => factsOf(component, file));
  // Manifests name their components only when they are rendered; what is given to all of them can be checked before.
  const where = (path: readonly string[]) => placeOf(file, commonPath(path));
  return [{ ...resourceFacts('each component', commonValues(file.spec.environment), where), kind: undefined }];
};

const factsOf = (component: MergedComponent, file: SpecFile): ComponentFacts => {
  const { name, kind, path: declaredAt, rendered } = component.declared;
  const facts = resourceFacts(name, component.values, (path) => whereIs(component, path));
  // Every environment of manifests has a namespace: nobody chose it.
  const isNamespace = rendered !== undefined && kind.common !== true;
  return {
    ...facts,
    cpu: [...facts.cpu, ...sumOfContainers(component, 'cpu')],
    memory: [...facts.memory, ...sumOfContainers(component, 'memory')],
    kind: isNamespace ? undefined : { path: `the kind of ${name}`, value: kind.name, where: () => placeOf(file, declaredAt) },
  };
};

/** What one copy takes when it has several containers. Those that only begin it end before the others. */
const sumOfContainers = (component: MergedComponent, resource: 'cpu' | 'memory'): readonly Stated<string>[] => {
  const { values, declared } = component;
  const workload = declared.rendered?.objects[0]?.object;
  const { kind } = workload ?? {};
  const beginning = isWorkload(kind) ? asList(objectAt(workload, [...podTemplatePath(kind), 'spec', 'initContainers'])) : [];
  const others = Object.keys(asMap(values['containers'])).filter((one) => !beginning.some((init) => asMap(init)['name'] === one));
  return ['requests', 'limits'].flatMap((end): readonly Stated<string>[] => {
    const amounts = [['resources', end, resource], ...others.map((one) => ['containers', one, 'resources', end, resource])];
    const known = amounts.flatMap((path) => parseQuantity(readAmount(valueAt(values, path)) ?? '') ?? []);
    if (others.length === 0 || known.length < 2) return [];
    const sum = known.reduce((total, amount) => total + amount, 0);
    const path = `${declared.name}.resources.${end}.${resource} of all its containers`;
    return [{ path, value: String(sum), where: () => whereIs(component, ['resources', end, resource]) }];
  });
};

const resourceFacts = (name: string, values: JsonMap, where: (path: readonly string[]) => string | undefined): ComponentFacts => {
  const at = <T>(path: readonly string[], read: (value: JsonValue | undefined) => T | undefined): readonly Stated<T>[] => {
    const value = read(valueAt(values, path));
    return value === undefined ? [] : [{ path: [name, ...path].join('.'), value, where: () => where(path) }];
  };
  const scaling = valueAt(values, ['autoscaling', 'enabled']) === true ? ['minReplicas', 'maxReplicas'] : [];
  const amounts = (resource: string) => ['requests', 'limits'].flatMap((end) => at(['resources', end, resource], readAmount));
  return {
    name,
    replicas: [...at(['replicas'], readNumber), ...scaling.flatMap((end) => at(['autoscaling', end], readNumber))],
    cpu: amounts('cpu'),
    memory: amounts('memory'),
  };
};

const readNumber = (value: JsonValue | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
/** An amount may be written without quotes. */
const readAmount = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
