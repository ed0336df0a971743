import { EphError, type JsonValue, type ResolvedComponent } from '@eph/contract';
import { z } from 'zod';

const objectName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.:-]{0,251}[a-z0-9])?$/, 'must be lower-case letters, digits, dashes, dots and colons');

const apiVersion = z
  .string()
  .regex(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?v[0-9][a-z0-9]{0,30}$/, 'must be a version such as apps/v1');

const kind = z.string().regex(/^[A-Z][A-Za-z0-9]{0,62}$/, 'must be a kind such as Deployment');

/** `isShallow` and the type of values say what it can be. */
const json = z.custom<JsonValue>(() => true);

/** Only what the provider itself relies on: the API server knows the rest better. */
const object = z.object({ apiVersion, kind, metadata: z.object({ name: objectName }).catchall(json) }).catchall(json);

/** The API server refuses what is nested deeper than 10,000 levels; no kind needs a hundred. */
const deepest = 100;

const isShallow = (value: JsonValue, left = deepest): boolean =>
  typeof value !== 'object' || value === null || (left > 0 && Object.values(value).every((one) => isShallow(one, left - 1)));

const slice = z.strictObject({ start: z.number(), length: z.number() }).exactOptional();
const latePart = z.union([z.strictObject({ secret: z.string(), slice }), z.strictObject({ url: z.literal(true), slice })]);
const parts = z.array(z.union([z.string(), latePart])).max(1000);

const dataKey = z.string().regex(/^[-._a-zA-Z0-9]{1,253}$/, 'must be letters, digits, dashes, dots and underscores');

const schema = z.strictObject({
  /** The workload first, if there is one. */
  objects: z.array(object).max(5000),
  entry: z
    .strictObject({ service: objectName, port: z.union([z.int().min(1).max(65_535), z.string().min(1).max(63)]) })
    .exactOptional(),
  hook: z.enum(['before', 'after']).exactOptional(),
  secretEnv: z.record(dataKey, parts).exactOptional(),
  volatile: z.array(z.string()).exactOptional(),
  // Of the component `namespace`:
  namespace: z.string().exactOptional(),
  context: z.string().exactOptional(),
  imagePullSecrets: z.array(objectName).exactOptional(),
  secrets: z.record(objectName, z.record(dataKey, z.union([z.string(), parts], 'must be text'))).exactOptional(),
  copies: z.strictObject({ namespace: objectName.exactOptional(), names: z.array(objectName) }).exactOptional(),
});

export type KubernetesValues = z.output<typeof schema>;

/** An object of which only the envelope is known. */
export type GivenObject = KubernetesValues['objects'][number];

/** Throws `component.refused`: values come from strangers. */
export const parseKubernetesValues = (component: ResolvedComponent): KubernetesValues => {
  if (!isShallow(component.values) || !isShallow(component.generated ?? {}))
    throw refuse(component, `its values are nested deeper than ${deepest} levels`);
  const parsed = schema.safeParse(component.values);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || 'values'}: ${issue.message}`);
  throw refuse(component, faults.join('; ').slice(0, 1000));
};

export const refuse = ({ name }: Pick<ResolvedComponent, 'name'>, why: string): EphError =>
  new EphError('component.refused', `Component ${name} cannot be made in Kubernetes: ${why}.`);
