import { createHash } from 'node:crypto';
import {
  asList,
  asMap,
  at,
  dnsLabel,
  type Failure,
  isWorkload,
  type JsonMap,
  podTemplatePath,
  type RenderedObject,
  type Spec,
  type WorkloadKind,
  withValue,
} from '@eph/contract';
import type { RenderedComponent } from '@eph/engine/render/renderer';
import { selects } from './label-selector.ts';
import { fault, groupOf, kindOf, type Manifest, ManifestFaults, metadataOf, nameOf, printObject } from './manifest.ts';
import { readWorkloadValues } from './workload-values.ts';

export type KubernetesSettings = NonNullable<Spec['kubernetes']>;
/** Sections beside it that say something about its components. */
export type OtherSettings = Pick<Spec, 'secrets' | 'observability'>;

export interface ComputedComponents {
  readonly components: readonly RenderedComponent[];
  readonly notices: readonly string[];
}

/** The component that holds what belongs to no workload. All others need it. */
const namespaceName = 'namespace';

interface Workload {
  readonly manifest: Manifest;
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly hook: { readonly phase: 'before' | 'after'; readonly weight: number } | undefined;
  readonly others: Manifest[];
}

/** Pure: what the objects of one commit mean. Throws `ManifestFaults`. */
export const computeComponents = (
  manifests: readonly Manifest[],
  settings: KubernetesSettings,
  { secrets, observability }: OtherSettings = {},
): ComputedComponents => {
  const skipped = manifests.filter(isSkippedHook);
  const used = manifests.filter((one) => !isSkippedHook(one)).map((one) => annotatePods(one, observability?.metrics));
  const workloads = nameWorkloads(used.filter(isWorkloadManifest));
  const rest: Manifest[] = [];
  for (const one of used) if (!isWorkloadManifest(one)) (findOwner(one, workloads)?.others ?? rest).push(one);
  const entry = findEntry(settings, workloads, rest);
  const before = workloads.filter(({ hook }) => hook?.phase === 'before');
  const components = workloads.map((workload): RenderedComponent => {
    const { name, kind, manifest, others, hook } = workload;
    const isEntry = entry !== undefined && others.some((one) => kindOf(one) === 'Service' && nameOf(one) === entry.service);
    return {
      name,
      kind,
      ...readWorkloadValues(name, kind, manifest, others),
      needs: [namespaceName, ...needsOf(workload, workloads, before)],
      objects: [manifest, ...others].map(toRendered),
      ...(isEntry && { entry }),
      ...(hook && { hook: hook.phase }),
    };
  });
  return {
    components: [{ ...namespaceOf(settings, secrets?.kubernetes), objects: rest.map(toRendered) }, ...components],
    notices: [
      ...skipped.map((one) => `${one.file}: ${printObject(one)} is left out: Eph runs no hook ${hooksOf(one).join(', ')}`),
      ...(entry === undefined ? [withoutEntry] : []),
    ],
  };
};

const withoutEntry = 'no Service selects a workload, so nothing answers at the address of the environment, and it is never ready';

const isWorkloadManifest = (manifest: Manifest): boolean =>
  isWorkload(kindOf(manifest)) && ['', 'apps', 'batch'].includes(groupOf(manifest));

/** What a manifest says is about one workload, and `eph.yaml` about all. */
const annotatePods = (manifest: Manifest, metrics: NonNullable<OtherSettings['observability']>['metrics']): Manifest => {
  const { enabled = true, annotations = {} } = metrics ?? {};
  if (!enabled || Object.keys(annotations).length === 0 || !isWorkloadManifest(manifest)) return manifest;
  const path = [...podTemplatePath(kindOf(manifest) as WorkloadKind), 'metadata', 'annotations'];
  const all = { ...annotations, ...asMap(at(manifest.object, path)) };
  return { ...manifest, object: asMap(withValue(manifest.object, path, all)) };
};

const toRendered = ({ object, file, line, generated }: Manifest): RenderedObject => ({
  object,
  file,
  line,
  ...(generated && { generated }),
});

/** By its name, with the kind where two share it. */
const nameWorkloads = (manifests: readonly Manifest[]): readonly Workload[] => {
  const labels = manifests.map((one) => toLabel(nameOf(one)));
  const isTaken = (label: string): boolean => label === namespaceName || labels.filter((one) => one === label).length > 1;
  const workloads = manifests.map((manifest, index): Workload => {
    const label = labels[index] ?? '';
    const kind = kindOf(manifest) as WorkloadKind;
    const name = isTaken(label) ? toLabel(`${nameOf(manifest)}-${kind.toLowerCase()}`) : label;
    return { manifest, kind, name, hook: hookOf(manifest), others: [] };
  });
  const faults = workloads.flatMap(({ name, manifest }, index): readonly Failure[] => {
    const other = workloads.slice(0, index).find((one) => one.name === name);
    if (other === undefined) return [];
    const where = `${printObject(other.manifest)} in ${other.manifest.file}`;
    return [fault(manifest.file, manifest.line, `${printObject(manifest)} and ${where} would both be component ${name}`)];
  });
  if (faults.length > 0) throw new ManifestFaults(faults);
  return workloads;
};

/** Names may have dots and be longer than a DNS label. */
const toLabel = (name: string): string => {
  const label = name.replaceAll(/[.:]+/g, '-');
  if (dnsLabel.test(label)) return label;
  const short = label.slice(0, 50).replace(/-+$/, '');
  return `${short}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
};

const hooksOf = (manifest: Manifest): readonly string[] => {
  const written = asMap(metadataOf(manifest)['annotations'])['helm.sh/hook'];
  return typeof written === 'string' ? written.split(',').map((one) => one.trim()) : [];
};

const phases: { readonly [hook: string]: 'before' | 'after' } = {
  'pre-install': 'before',
  'pre-upgrade': 'before',
  'post-install': 'after',
  'post-upgrade': 'after',
};

const isSkippedHook = (manifest: Manifest): boolean => {
  const hooks = hooksOf(manifest);
  return hooks.length > 0 && !hooks.some((hook) => Object.hasOwn(phases, hook));
};

/** Only what ends can come before or after something. */
const hookOf = (manifest: Manifest): Workload['hook'] => {
  const phase = hooksOf(manifest).flatMap((hook) => (Object.hasOwn(phases, hook) ? (phases[hook] ?? []) : []))[0];
  if (phase === undefined || !['Job', 'Pod'].includes(kindOf(manifest))) return undefined;
  const weight = Number(asMap(metadataOf(manifest)['annotations'])['helm.sh/hook-weight'] ?? 0);
  return { phase, weight: Number.isFinite(weight) ? weight : 0 };
};

/** Hooks of one phase run by their weights. Those that come after need nothing else: readiness is no condition for them. */
const needsOf = ({ hook }: Workload, all: readonly Workload[], before: readonly Workload[]): readonly string[] => {
  if (hook === undefined) return before.map(({ name }) => name);
  return all.filter((one) => one.hook?.phase === hook.phase && one.hook.weight < hook.weight).map(({ name }) => name);
};

/** The workload that a Service, an autoscaler or a disruption budget points at. */
const findOwner = (manifest: Manifest, workloads: readonly Workload[]): Workload | undefined => {
  const spec = asMap(manifest.object['spec']);
  const byLabels = (selector: JsonMap): Workload | undefined =>
    workloads.find(({ manifest: own, kind }) =>
      selects(selector, asMap(at(own.object, [...podTemplatePath(kind), 'metadata', 'labels']))),
    );
  switch (`${groupOf(manifest)}/${kindOf(manifest)}`) {
    case '/Service': {
      const { selector } = spec;
      return selector === undefined ? undefined : byLabels({ matchLabels: selector });
    }
    case 'policy/PodDisruptionBudget':
      return byLabels(asMap(spec['selector']));
    case 'autoscaling/HorizontalPodAutoscaler': {
      const { kind, name } = asMap(spec['scaleTargetRef']);
      return workloads.find((one) => one.kind === kind && nameOf(one.manifest) === name);
    }
    default:
      return undefined;
  }
};

interface Port {
  readonly number: number;
  readonly name: string | undefined;
}

/** The service and the port that get the traffic; undefined where nothing can be reached. */
const findEntry = (
  { entry }: KubernetesSettings,
  workloads: readonly Workload[],
  rest: readonly Manifest[],
): RenderedComponent['entry'] => {
  const services = workloads.flatMap(({ others, hook }) =>
    hook === undefined ? others.filter((one) => kindOf(one) === 'Service') : [],
  );
  const names = services.map(nameOf);
  const where = 'eph.yaml: kubernetes.entry';
  const refuseEntry = (message: string): ManifestFaults => new ManifestFaults([fault(where, null, message)]);
  const stray = rest.find((one) => kindOf(one) === 'Service' && nameOf(one) === entry?.service);
  if (stray !== undefined) throw refuseEntry(`service ${nameOf(stray)} (${stray.file}) selects no workload`);
  const chosen = entry === undefined ? services : services.filter((one) => nameOf(one) === entry.service);
  const [service] = chosen;
  if (entry !== undefined && service === undefined)
    throw refuseEntry(`there is no service ${entry.service}; there is: ${names.join(', ') || 'none'}`);
  if (service === undefined) return undefined;
  const ports = portsOf(service);
  if (entry?.port !== undefined) {
    if (!ports.some(({ number, name }) => number === entry.port || name === entry.port))
      throw refuseEntry(
        `service ${nameOf(service)} has no port ${entry.port}; it has: ${ports.map(printPort).join(', ') || 'none'}`,
      );
    return { service: nameOf(service), port: entry.port };
  }
  if (chosen.length > 1) throw refuseEntry(`is required: the traffic could go to ${names.join(' or ')}`);
  const [port] = ports;
  if (ports.length > 1)
    throw refuseEntry(`is required with a port: service ${nameOf(service)} has ${ports.map(printPort).join(' and ')}`);
  return port === undefined ? undefined : { service: nameOf(service), port: port.number };
};

const portsOf = ({ object }: Manifest): readonly Port[] =>
  asList(at(object, ['spec', 'ports'])).flatMap((one) => {
    const { port, name, protocol = 'TCP' } = asMap(one);
    if (typeof port !== 'number' || protocol !== 'TCP') return [];
    return [{ number: port, name: typeof name === 'string' ? name : undefined }];
  });

const printPort = ({ number, name }: Port): string => (name === undefined ? String(number) : `${number} (${name})`);

const namespaceOf = (
  settings: KubernetesSettings,
  copied: NonNullable<OtherSettings['secrets']>['kubernetes'],
): Omit<RenderedComponent, 'objects'> => {
  const { context, namespace_template, imagePullSecrets = [], secrets = [] } = settings;
  const env = Object.fromEntries(
    secrets.flatMap(({ name, data }) => Object.entries(data).map(([key, value]) => [`${name}/${key}`, value])),
  );
  return {
    name: namespaceName,
    kind: 'Namespace',
    values: {
      ...(context !== undefined && { context }),
      ...(namespace_template !== undefined && { namespace_template }),
      ...(imagePullSecrets.length > 0 && { imagePullSecrets: imagePullSecrets.map(({ name }) => name) }),
      ...(copied && { copies: toCopies(copied) }),
      ...(Object.keys(env).length > 0 && { env }),
    },
    needs: [],
  };
};

const toCopies = ({
  copy_from_namespace,
  secrets,
}: NonNullable<NonNullable<OtherSettings['secrets']>['kubernetes']>): JsonMap => ({
  ...(copy_from_namespace !== undefined && { namespace: copy_from_namespace }),
  names: secrets,
});
