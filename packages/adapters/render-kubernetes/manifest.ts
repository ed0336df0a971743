import {
  asMap,
  asText,
  type Failure,
  failure,
  type Generated,
  type JsonMap,
  type JsonValue,
  namespacePlaceholder,
} from '@eph/contract';

/** An object as a file gives it. */
export interface Manifest {
  readonly object: JsonMap;
  /** From the root of the repository. */
  readonly file: string;
  /** Null where a program gave it. */
  readonly line: number | null;
  /** Where a value of it is in the file. */
  readonly place: (path: readonly (string | number)[]) => readonly [line: number, column: number] | undefined;
  readonly generated?: Generated;
}

/** The most that one environment may be made of. */
export const manifestLimits = { objects: 2000, bytes: 16 * 1024 ** 2, fileBytes: 4 * 1024 ** 2 } as const;

/** What is wrong with files that a person must mend. */
export class ManifestFaults extends Error {
  readonly faults: readonly Failure[];

  constructor(faults: readonly Failure[]) {
    super('the manifests are at fault');
    this.faults = faults;
  }
}

export const fault = (file: string, line: number | null, message: string): Failure =>
  failure('spec.invalid', `${file}${line === null ? '' : `:${line}`}: ${message}`);

export const refuse = (file: string, message: string, line: number | null = null): ManifestFaults =>
  new ManifestFaults([fault(file, line, message)]);

export const metadataOf = ({ object }: Manifest): JsonMap => asMap(object['metadata']);
export const nameOf = (manifest: Manifest): string => asText(metadataOf(manifest)['name']);
export const kindOf = ({ object }: Manifest): string => asText(object['kind']);
export const groupOf = ({ object }: Manifest): string => groupOfVersion(asText(object['apiVersion']));
/** `Deployment/web`. */
export const printObject = (manifest: Manifest): string => `${kindOf(manifest)}/${nameOf(manifest)}`;

/** An object that comes again replaces the earlier one: a base, and then the overlay that holds it too. */
export const withoutRepeated = (manifests: readonly Manifest[]): readonly Manifest[] => [
  ...new Map(manifests.map((one) => [keyOf(one), one])).values(),
];

export const keyOf = (manifest: Manifest): string => `${groupOf(manifest)}/${printObject(manifest)}`;

const versionForm = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?v[0-9][a-z0-9]{0,30}$/;
const kindForm = /^[A-Z][A-Za-z0-9]{0,62}$/;
const nameForm = /^[a-z0-9]([a-z0-9.:-]{0,251}[a-z0-9])?$/;

/** The groups and versions in which workloads are understood. */
const workloadVersions: { readonly [kind: string]: string } = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
  Pod: 'v1',
};

/** Undefined for what is an object of Kubernetes. */
export const findFlaw = (value: JsonValue): string | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'a manifest must be a map';
  const { apiVersion, kind, metadata } = value as JsonMap;
  if (typeof apiVersion !== 'string' || !versionForm.test(apiVersion))
    return `apiVersion ${print(apiVersion)} is none; it is written as in apps/v1`;
  if (typeof kind !== 'string' || !kindForm.test(kind)) return `kind ${print(kind)} is none; it is written as in Deployment`;
  const known = workloadVersions[kind];
  const isSameGroup = known !== undefined && ['apps', 'batch', 'extensions', ''].includes(groupOfVersion(apiVersion));
  if (isSameGroup && apiVersion !== known) return `${kind} has apiVersion ${apiVersion}, which is not served; write ${known}`;
  const { name, generateName } = asMap(metadata);
  if (name === undefined && generateName !== undefined)
    return `${kind} has generateName; give it a name, or each pass would make another one`;
  if (typeof name !== 'string' || !nameForm.test(name)) return `${kind} has the name ${print(name)}, which Kubernetes refuses`;
  return undefined;
};

const groupOfVersion = (version: string): string => (version.includes('/') ? version.slice(0, version.indexOf('/')) : '');

const print = (value: JsonValue | undefined): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};

const setByServer = ['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields', 'selfLink'];
/** With these, strangers could keep an environment from going away, or have it removed. */
const ownership = ['finalizers', 'ownerReferences'];

/** Without what only the API server may write. Eph's placeholder is no other namespace. */
export const clean = (object: JsonMap): { readonly object: JsonMap; readonly dropped: readonly string[] } => {
  const { status: _, metadata, ...rest } = object;
  const own = asMap(metadata);
  const kept = Object.entries(own).filter(
    ([key, value]) =>
      !setByServer.includes(key) && !ownership.includes(key) && !(key === 'namespace' && value === namespacePlaceholder),
  );
  return { object: { ...rest, metadata: Object.fromEntries(kept) }, dropped: ownership.filter((key) => Object.hasOwn(own, key)) };
};
