import { z } from 'zod';
import type { JsonValue } from '../environment.ts';
import type { JsonMap } from '../layers.ts';
import { componentKinds, deploymentValues } from './component-values.ts';
import { interruptionOf } from './interruption.ts';
import {
  asList,
  asMap,
  asText,
  at,
  findMainContainer,
  type Generated,
  isWorkload,
  type ProviderObjects,
  podTemplatePath,
  type RenderedObject,
  type ResolvedValues,
  toPointer,
  variableSecret,
  type WorkloadKind,
  withValue,
} from './rendered-objects.ts';
import { list, name, template, text, variables } from './scalars.ts';
import type { ComponentKind } from './section.ts';
import { image, resources } from './workload.ts';

const manifestVariables = z
  .record(
    z.string(),
    z.union([
      z.union([z.string(), z.number(), z.boolean()]).transform(String),
      z.looseObject({}).describe('Where Kubernetes takes the value from; it stays as the manifest has it.'),
    ]),
  )
  .describe('Environment variables of the main container.');

const workloadValues = deploymentValues
  .extend({
    env: manifestVariables.optional(),
    containers: z
      .record(name, z.strictObject({ image: image.optional(), resources: resources.optional() }))
      .optional()
      .describe('Containers beside the main one, by their names.'),
  })
  .describe('A workload of a manifest.');

const namespaceValues = z
  .strictObject({
    context: template('kubernetes.context').optional(),
    namespace_template: template('kubernetes.namespace_template').optional(),
    imagePullSecrets: list(text()).optional(),
    copies: z
      .strictObject({ namespace: name.optional(), names: list(text()) })
      .optional()
      .describe('Secrets of another namespace.'),
    env: variables.or(manifestVariables).optional().describe('What secrets hold, by `<secret>/<key>`.'),
  })
  .describe('The namespace of an environment, with all that belongs to no workload.');

const { env } = componentKinds.Deployment.builtIn;

const workload = (kind: WorkloadKind, used: readonly string[], more: Partial<ComponentKind> = {}): ComponentKind => ({
  name: kind,
  schema: workloadValues,
  builtIn: { env },
  common: true,
  used: ['env', 'image', 'resources', 'containers', ...used],
  toObjects: fillWorkload,
  interruption: ({ objects }, claims) => interruptionOf(asMap(asList(objects)[0]), claims),
  ...more,
});

/** What a renderer makes of manifests. */
export const kubernetesKinds = {
  Deployment: workload('Deployment', ['replicas', 'autoscaling']),
  StatefulSet: workload('StatefulSet', ['replicas', 'autoscaling'], { holdsData: true }),
  DaemonSet: workload('DaemonSet', []),
  ReplicaSet: workload('ReplicaSet', ['replicas', 'autoscaling']),
  Job: workload('Job', []),
  CronJob: workload('CronJob', []),
  Pod: workload('Pod', []),
  Namespace: {
    name: 'Namespace',
    schema: namespaceValues,
    holdsData: true,
    pullSecrets: ({ imagePullSecrets }) => asList(imagePullSecrets).map((one) => asText(one)),
    toObjects: fillNamespace,
  },
} as const satisfies { readonly [kind: string]: ComponentKind };

/** All objects, with the values of all layers in their places. */
function fillWorkload(given: ResolvedValues): ProviderObjects {
  const [first, ...others] = given.rendered.objects;
  const kind = first?.object['kind'];
  if (first === undefined || !isWorkload(kind)) return collect(given, given.rendered.objects);
  const scaling = scalingOf(given.values);
  const scalers = others.filter(isScaler);
  const rest = others.filter((one) => !isScaler(one));
  const scaled = scaling === undefined ? [] : scalers.map((one) => ({ ...one, object: fillScaler(one.object, scaling) }));
  const made = scaling !== undefined && scalers.length === 0 ? [{ ...first, object: createScaler(first.object, scaling) }] : [];
  const filled = fillPods(given, kind, first);
  const replicas = given.values['replicas'];
  const hasReplicas = ['Deployment', 'StatefulSet', 'ReplicaSet'].includes(kind);
  const object = hasReplicas
    ? asMap(withValue(filled.object, ['spec', 'replicas'], scaling === undefined ? replicas : undefined))
    : filled.object;
  return collect(given, [{ ...filled, object }, ...rest, ...scaled, ...made.map(({ generated: _, ...one }) => one)]);
}

function fillNamespace(given: ResolvedValues): ProviderObjects {
  const { values, fill, env: plain, secretEnv } = given;
  const { context, namespace_template: namespace, imagePullSecrets, copies } = values;
  const { values: own, ...rest } = collect({ ...given, secretEnv: {} }, given.rendered.objects);
  const bySecret = Map.groupBy(Object.entries({ ...plain, ...secretEnv }), ([place]) => place.slice(0, place.indexOf('/')));
  const secrets = Object.fromEntries(
    Array.from(bySecret, ([secret, held]) => [
      secret,
      Object.fromEntries(held.map(([place, value]) => [place.slice(secret.length + 1), value])),
    ]),
  );
  return {
    ...rest,
    values: {
      ...own,
      ...(typeof context === 'string' && { context: fill('kubernetes.context', context) }),
      ...(typeof namespace === 'string' && { namespace: fill('kubernetes.namespace_template', namespace) }),
      ...(imagePullSecrets !== undefined && { imagePullSecrets }),
      ...(copies !== undefined && { copies }),
      ...(Object.keys(secrets).length > 0 && { secrets }),
    },
  };
}

const collect = ({ rendered, secretEnv }: ResolvedValues, objects: readonly RenderedObject[]): ProviderObjects => {
  const generated: Generated = Object.fromEntries(
    objects.flatMap((one, index) =>
      Object.entries(one.generated ?? {}).map(([pointer, value]): [string, JsonValue] => [`/${index}${pointer}`, value]),
    ),
  );
  const volatile = Object.keys(generated).toSorted();
  return {
    values: {
      objects: objects.map(({ object }) => object),
      ...(rendered.entry && { entry: { ...rendered.entry } }),
      ...(rendered.hook && { hook: rendered.hook }),
      ...(Object.keys(secretEnv).length > 0 && { secretEnv }),
      ...(volatile.length > 0 && { volatile }),
    },
    ...(volatile.length > 0 && { generated }),
  };
};

const fillPods = (given: ResolvedValues, kind: WorkloadKind, rendered: RenderedObject): RenderedObject => {
  const { name: component, values, images } = given;
  const path = [...podTemplatePath(kind), 'spec'];
  const containers = asList(at(rendered.object, [...path, 'containers']));
  const main = findMainContainer(containers, component);
  const others = asMap(values['containers']);
  const fillOther = (container: JsonValue): JsonValue => {
    const own = asText(asMap(container)['name']);
    return fillContainer(container, images[`containers.${own}.image`], at(others, [own, 'resources']));
  };
  const variables = listVariables(given, containers[main]);
  const pods: JsonValue = {
    ...asMap(at(rendered.object, path)),
    containers: containers.map((container, index) => {
      if (index !== main) return fillOther(container);
      const filled = fillContainer(container, images['image'], values['resources']);
      return withValue(filled, ['env'], variables.length === 0 ? undefined : variables.map(({ entry }) => entry));
    }),
    ...(at(rendered.object, [...path, 'initContainers']) !== undefined && {
      initContainers: asList(at(rendered.object, [...path, 'initContainers'])).map(fillOther),
    }),
  };
  const inEnv = toPointer([...path, 'containers', main, 'env']);
  const generated = {
    ...Object.fromEntries(Object.entries(rendered.generated ?? {}).filter(([pointer]) => !pointer.startsWith(`${inEnv}/`))),
    ...Object.fromEntries(
      variables.flatMap(({ generated: value }, index) =>
        value === undefined ? [] : [[`${inEnv}/${index}/value`, value] as const],
      ),
    ),
  };
  return {
    ...rendered,
    object: asMap(withValue(rendered.object, path, pods)),
    ...(Object.keys(generated).length > 0 && { generated }),
  };
};

const fillContainer = (container: JsonValue, reference: string | undefined, wanted: JsonValue | undefined): JsonValue => {
  const pinned = reference === undefined ? container : withValue(container, ['image'], reference);
  // Amounts that Eph does not know, such as of graphics cards, stay.
  return (['requests', 'limits'] as const).reduce<JsonValue>((filled, end) => {
    const asked = asMap(asMap(wanted)[end]);
    const had = asMap(at(filled, ['resources', end]));
    const { cpu: _, memory: __, ...kept } = had;
    const all = { ...kept, ...asked };
    if (Object.keys(all).length === 0 && Object.keys(had).length === 0) return filled;
    return withValue(filled, ['resources', end], Object.keys(all).length === 0 ? undefined : all);
  }, pinned);
};

interface VariableEntry {
  readonly entry: JsonMap;
  readonly generated?: JsonValue;
}

/** Those of the manifest keep their order, in which they may use each other; what else there is comes before them. */
const listVariables = (
  { name: component, values, env: plain, secretEnv }: ResolvedValues,
  container: JsonValue | undefined,
): readonly VariableEntry[] => {
  const written = asList(asMap(container)['env']).map(asMap);
  const names = written.map((one) => asText(one['name']));
  const merged = asMap(values['env']);
  const toEntry = (variable: string): readonly VariableEntry[] => {
    const literal = at(plain, [variable]);
    if (typeof literal === 'string') return [{ entry: { name: variable, value: literal } }];
    if (literal !== undefined) return [{ entry: { name: variable, valueFrom: toSource(asMap(literal)) } }];
    if (Object.hasOwn(secretEnv, variable)) {
      const key = { name: variableSecret(component), key: variable };
      return [{ entry: { name: variable, valueFrom: { secretKeyRef: key } } }];
    }
    const { generated, ...own } = asMap(at(merged, [variable]));
    if (generated !== undefined) return [{ entry: { name: variable, value: null }, generated }];
    return Object.keys(own).length === 0 ? [] : [{ entry: { name: variable, ...own } }];
  };
  const added = [...Object.keys(plain), ...Object.keys(secretEnv)].filter((one) => !names.includes(one)).toSorted();
  const kept = written.flatMap((one, index): readonly VariableEntry[] => {
    const variable = names[index] ?? '';
    // Of a variable that is given twice the last counts.
    if (names.lastIndexOf(variable) !== index) return [];
    return isVariableName(variable) ? toEntry(variable) : [{ entry: one }];
  });
  return [...added.flatMap(toEntry), ...kept];
};

/** What Eph manages. Kubernetes allows more, which stays as it is. */
export const isVariableName = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(text);

const toSource = (value: JsonMap): JsonMap =>
  Object.fromEntries(
    Object.entries(value).map(([kind, source]) => {
      const { component: _, ...own } = asMap(source);
      return [kind, own];
    }),
  );

interface Scaling {
  readonly least: number;
  readonly most: number;
}

const scalingOf = ({ autoscaling, replicas }: JsonMap): Scaling | undefined => {
  const { enabled, minReplicas, maxReplicas } = asMap(autoscaling);
  if (enabled !== true) return undefined;
  const least = numberOr(minReplicas, numberOr(replicas, 1));
  return { least, most: Math.max(least, numberOr(maxReplicas, least)) };
};

const numberOr = (value: JsonValue | undefined, otherwise: number): number => (typeof value === 'number' ? value : otherwise);

const isScaler = ({ object }: RenderedObject): boolean => object['kind'] === 'HorizontalPodAutoscaler';

const fillScaler = (object: JsonMap, { least, most }: Scaling): JsonMap => ({
  ...object,
  spec: { ...asMap(object['spec']), minReplicas: least, maxReplicas: most },
});

/** Of what only Eph's files let follow the load. */
const createScaler = ({ apiVersion, kind, metadata }: JsonMap, scaling: Scaling): JsonMap => {
  const own = asMap(metadata)['name'] ?? '';
  return fillScaler(
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: own },
      spec: {
        scaleTargetRef: { apiVersion: apiVersion ?? '', kind: kind ?? '', name: own },
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
      },
    },
    scaling,
  );
};
