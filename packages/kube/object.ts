/** An object as the API server sends it. Only the envelope is checked; whoever reads more of it goes through `fields.ts`. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly [field: string]: unknown;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

/** A kind in one version of its group, such as `apps/v1` and `Deployment`. */
export interface KindName {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface ObjectName {
  /** Absent for what belongs to the whole cluster. */
  readonly namespace?: string;
  readonly name: string;
}

/** `<namespace>/<name>`, or the name of an object without a namespace. */
export const keyOf = ({ namespace, name }: ObjectName): string => (namespace === undefined ? name : `${namespace}/${name}`);

/** For people: `Deployment shop/web`. */
export const showObject = ({ kind }: { readonly kind: string }, name: ObjectName): string => `${kind} ${keyOf(name)}`;

/** Undefined for what is not an object of the API. `kindName` is for items of lists, which do not carry it, or carry another. */
export const parseObject = (value: unknown, kindName?: KindName): KubeObject | undefined => {
  if (!isRecord(value) || !isRecord(value['metadata'])) return undefined;
  const { metadata } = value;
  const { apiVersion, kind } = kindName ?? value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata['name'] !== 'string') return undefined;
  const { namespace, uid, resourceVersion, labels } = metadata;
  if (![namespace, uid, resourceVersion].every((text) => text === undefined || typeof text === 'string')) return undefined;
  if (labels !== undefined && !isRecord(labels)) return undefined;
  // The API server checks the types of metadata before it stores them.
  return Object.assign(value, { apiVersion, kind }) as unknown as KubeObject;
};

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
