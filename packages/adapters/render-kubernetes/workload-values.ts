import {
  asList,
  asMap,
  asText,
  at,
  findMainContainer,
  isVariableName,
  type JsonMap,
  type JsonValue,
  podTemplatePath,
  toPointer,
  type WorkloadKind,
} from '@eph/contract';
import { kindOf, type Manifest } from './manifest.ts';

type Path = readonly (string | number)[];

export interface WorkloadValues {
  readonly values: JsonMap;
  readonly places: { readonly [path: string]: readonly [number, number] };
}

/** What layers may change of a workload, as its manifest has it. */
export const readWorkloadValues = (
  component: string,
  kind: WorkloadKind,
  workload: Manifest,
  others: readonly Manifest[],
): WorkloadValues => {
  const places: { [path: string]: readonly [number, number] } = {};
  const note = (path: Path, from: Path): void => {
    const place = workload.place(from);
    if (place !== undefined) places[path.join('.')] = place;
  };
  const pods = [...podTemplatePath(kind), 'spec'];
  const containers = asList(at(workload.object, [...pods, 'containers']));
  const main = findMainContainer(containers, component);
  const readContainer = (container: JsonValue | undefined, to: Path, from: Path): JsonMap => {
    const { image, resources } = asMap(container);
    const amounts = readResources(asMap(resources));
    if (image !== undefined) note([...to, 'image'], [...from, 'image']);
    for (const [end, own] of Object.entries(amounts))
      for (const key of Object.keys(asMap(own))) note([...to, 'resources', end, key], [...from, 'resources', end, key]);
    return { ...(image !== undefined && { image }), ...(Object.keys(amounts).length > 0 && { resources: amounts }) };
  };
  const inits = asList(at(workload.object, [...pods, 'initContainers']));
  const beside = [
    ...containers.map((container, index) => ({ container, from: [...pods, 'containers', index], isMain: index === main })),
    ...inits.map((container, index) => ({ container, from: [...pods, 'initContainers', index], isMain: false })),
  ].filter(({ isMain, container }) => !isMain && typeof asMap(container)['name'] === 'string');
  const named = Object.fromEntries(
    beside.map(({ container, from }) => {
      const name = asText(asMap(container)['name']);
      return [name, readContainer(container, ['containers', name], from)];
    }),
  );
  const own = [...pods, 'containers', main];
  const env = readVariables(workload, own, note);
  const replicas = at(workload.object, ['spec', 'replicas']);
  if (replicas !== undefined) note(['replicas'], ['spec', 'replicas']);
  const autoscaling = readAutoscaling(others);
  return {
    values: {
      ...readContainer(containers[main], [], own),
      ...(Object.keys(env).length > 0 && { env }),
      ...(Object.keys(named).length > 0 && { containers: named }),
      ...(typeof replicas === 'number' && { replicas }),
      ...(autoscaling && { autoscaling }),
    },
    places,
  };
};

/** Of all resources, those that Eph knows. */
const readResources = (resources: JsonMap): JsonMap =>
  Object.fromEntries(
    ['requests', 'limits'].flatMap((end) => {
      const { cpu, memory } = asMap(resources[end]);
      const amounts = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
      return Object.keys(amounts).length === 0 ? [] : [[end, amounts]];
    }),
  );

const readVariables = ({ object, generated = {} }: Manifest, container: Path, note: (path: Path, from: Path) => void): JsonMap =>
  Object.fromEntries(
    asList(at(object, [...container, 'env'])).flatMap((entry, index): [string, JsonValue][] => {
      const { name, value, ...rest } = asMap(entry);
      if (typeof name !== 'string' || !isVariableName(name)) return [];
      const from = [...container, 'env', index];
      note(['env', name], from);
      const fresh = generated[toPointer([...from, 'value'])];
      if (fresh !== undefined) return [[name, { generated: fresh }]];
      if (Object.keys(rest).length > 0) return [[name, rest]];
      return [[name, typeof value === 'object' ? '' : String(value ?? '')]];
    }),
  );

const readAutoscaling = (others: readonly Manifest[]): JsonMap | undefined => {
  const scaler = others.find((one) => kindOf(one) === 'HorizontalPodAutoscaler');
  if (scaler === undefined) return undefined;
  const { minReplicas, maxReplicas } = asMap(scaler.object['spec']);
  return {
    enabled: true,
    ...(typeof minReplicas === 'number' && { minReplicas }),
    ...(typeof maxReplicas === 'number' && { maxReplicas }),
  };
};
