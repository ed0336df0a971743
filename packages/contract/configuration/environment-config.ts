import { z } from 'zod';
import type { JsonMap } from '../layers.ts';
import { type PolicyLimits, policySchema } from '../policy.ts';
import { componentKinds } from '../spec/component-values.ts';
import { type DocumentForm, type ParsedDocument, type Places, parseDocument } from '../spec/document.ts';
import { kubernetesKinds } from '../spec/kubernetes-kinds.ts';
import { isMap } from '../spec/rules.ts';
import { name } from '../spec/scalars.ts';
import type { ComponentKind } from '../spec/section.ts';
import { closest } from '../spec/suggest.ts';
import { type ConfigScope, type ConfigType, findForeignLabels, findLabelFlaws, readLabels } from './labels.ts';
import { layerOf, openLayer } from './layer-values.ts';

/** An EnvironmentConfig of Crossplane. Its payload is in `data`; documents that hold it in `spec` or `spec.data` exist, too. */
export type EnvironmentConfig = ClusterConfig | ProjectConfig;

export interface ClusterConfig {
  readonly type: 'cluster';
  /** Where the payload is in the document: `data`, `spec` or `spec.data`. */
  readonly payload: readonly string[];
  readonly environment: EnvironmentFacts;
  readonly defaults: { readonly [kind: string]: JsonMap };
  readonly platform: PlatformValues;
  readonly policy: PolicyLimits | undefined;
}

export interface ProjectConfig {
  readonly type: 'project';
  readonly payload: readonly string[];
  /** Undefined where the document leaves it to its path. */
  readonly repository: string | undefined;
  readonly project: string;
  readonly overrides: { readonly [component: string]: JsonMap };
}

/** A document and where it is. */
export interface PlacedConfig<C extends EnvironmentConfig = EnvironmentConfig> {
  readonly config: C;
  /** As people know it. */
  readonly file: string;
  /** The commit it was read at; null where it does not come from Git. */
  readonly commit: string | null;
  readonly places: Places;
  /** The path of the document in its file; empty where it is the whole file. */
  readonly at: readonly (string | number)[];
}

const text = z.string().min(1);

const environment = z
  .strictObject({
    name: text.optional().describe('What this cluster is called, such as `dev`.'),
    domain: text.optional().describe('The domain that its addresses end in.'),
    region: text.optional().describe('Where it runs.'),
    tier: text.optional().describe('What it is for, such as `dev`, `staging` or `prod`.'),
  })
  .describe('Facts about the cluster.');
export type EnvironmentFacts = z.output<typeof environment>;

const outputKey = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'is not a key; use letters, digits, dashes, dots and underscores');

const platform = z
  .strictObject({
    registry: text.optional().describe('Where images are kept.'),
    objectStorage: z.strictObject({ endpoint: text.optional(), bucket: text.optional() }).optional(),
    secretBackend: z.strictObject({ type: text.optional(), endpoint: text.optional() }).optional(),
    observability: z.strictObject({ metricsEndpoint: text.optional(), logsEndpoint: text.optional() }).optional(),
    outputs: z
      .record(name, z.record(outputKey, z.string()))
      .optional()
      .describe('What `platform::outputs/<component>/<key>` stands for, per component and key.'),
  })
  .describe('Values of the platform.');
export type PlatformValues = z.output<typeof platform>;

/** What a section writes and what manifests hold may share a name: then each section takes the values that it knows. */
const kinds = { ...kubernetesKinds, ...componentKinds };
const kindNames = Object.keys(kinds);

const defaults = z
  .object(
    Object.fromEntries(
      Object.values<ComponentKind>(kinds).flatMap((kind) =>
        kind.schema === undefined ? [] : [[kind.name, layerOf(kind.schema).optional()]],
      ),
    ),
  )
  .catchall(openLayer)
  .superRefine(
    (kinds, context) => {
      for (const kind of Object.keys(kinds)) {
        const near = kindNames.some((known) => known === kind) ? undefined : closest(kind, kindNames);
        if (near !== undefined)
          context.addIssue({ code: 'custom', path: [kind], message: `unknown kind; did you mean ${JSON.stringify(near)}?` });
      }
    },
    { when: isMap },
  )
  .describe('Values for all components of a kind.');

const payload = z.strictObject({
  environment: environment.optional(),
  defaults: defaults.nullish(),
  platform: platform.optional(),
  policy: policySchema.optional(),
  overrides: z.record(name, openLayer).nullish().describe('Values for one component, by its name.'),
});
type Payload = z.output<typeof payload>;

const payloadKeys: { readonly [type in ConfigType]: readonly (keyof Payload)[] } = {
  cluster: ['environment', 'defaults', 'platform', 'policy'],
  project: ['overrides'],
};

const objectName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

const document = z
  .strictObject({
    apiVersion: z.enum(['apiextensions.crossplane.io/v1beta1', 'apiextensions.crossplane.io/v1alpha1']),
    kind: z.literal('EnvironmentConfig'),
    metadata: z.strictObject({
      // Upper case is no legal name for Kubernetes, but what such documents are called. Nothing is selected by it.
      name: z
        .string()
        .refine((given) => given === 'Cluster' || objectName.test(given), 'must be lower-case letters, digits, dashes and dots'),
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
    data: payload.optional(),
    spec: payload.extend({ data: payload.optional() }).optional(),
  })
  .superRefine(
    (given, context) => {
      for (const { path, message } of findConflicts(given)) context.addIssue({ code: 'custom', path: [...path], message });
    },
    { when: isMap },
  );
type Document = z.output<typeof document>;

interface Conflict {
  readonly path: readonly string[];
  readonly message: string;
}

type Loose = { readonly [key: string]: unknown };

/** Rules about several keys are checked together with those about each, so the parts may be anything. */
const asMap = (value: unknown): Loose => (isMap({ value }) ? (value as Loose) : {});

const labelsOf = (given: Loose): Loose | undefined => {
  const { labels } = asMap(given['metadata']);
  return isMap({ value: labels }) ? asMap(labels) : undefined;
};

const findConflicts = (given: Loose): readonly Conflict[] => {
  const labels = labelsOf(given);
  const flaws = labels === undefined ? [] : findLabelFlaws(labels);
  return [
    ...flaws.map(({ key, message }) => ({ path: labelPath(key), message })),
    ...findPayloadConflicts(given),
    ...findMisplacedKeys(given, labels),
  ];
};

const labelPath = (key: string | undefined): readonly string[] => ['metadata', 'labels', ...(key === undefined ? [] : [key])];

const findPayloadConflicts = (given: Loose): readonly Conflict[] => {
  if (given['data'] === undefined && given['spec'] === undefined) return [{ path: ['data'], message: 'is required' }];
  if (given['data'] !== undefined && given['spec'] !== undefined)
    return [{ path: ['spec'], message: 'data is given, too; keep everything in data' }];
  const spec = asMap(given['spec']);
  if (spec['data'] === undefined) return [];
  const beside = Object.keys(payload.shape).filter((key) => spec[key] !== undefined);
  return beside.map((key) => ({ path: ['spec', key], message: 'spec.data is given, too; keep everything in it' }));
};

const findMisplacedKeys = (given: Loose, labels: Loose = {}): readonly Conflict[] => {
  const { type } = readLabels(labels);
  const other = type === 'cluster' ? 'project' : type === 'project' ? 'cluster' : undefined;
  if (other === undefined) return [];
  const path = payloadPath(given);
  const found = path.reduce<Loose>((at, step) => asMap(at[step]), given);
  return payloadKeys[other]
    .filter((key) => found[key] !== undefined)
    .map((key) => ({ path: [...path, key], message: `belongs in a document with the label eph.io/type: ${other}` }));
};

const payloadPath = (given: Loose): readonly string[] => {
  if (given['data'] !== undefined) return ['data'];
  return asMap(given['spec'])['data'] === undefined ? ['spec'] : ['spec', 'data'];
};

const toConfig = ({ metadata, data, spec }: Document): EnvironmentConfig => {
  const { type, repository, project = '' } = readLabels(metadata.labels);
  const given: Payload = data ?? spec?.data ?? spec ?? {};
  const path = payloadPath({ data, spec });
  if (type === 'project') return { type, payload: path, repository, project, overrides: withoutNulls(given.overrides) };
  return {
    type: 'cluster',
    payload: path,
    environment: given.environment ?? {},
    defaults: withoutNulls(given.defaults),
    platform: given.platform ?? {},
    policy: given.policy,
  };
};

const withoutNulls = (layers: { readonly [key: string]: unknown } | null | undefined): { readonly [key: string]: JsonMap } =>
  // Checked key by key above, where the schema of a kind cannot say that its parts are JSON.
  Object.fromEntries(
    Object.entries(layers ?? {}).filter((entry): entry is [string, JsonMap] => entry[1] !== null && entry[1] !== undefined),
  );

export const environmentConfigSchema = document.transform(toConfig);

export const environmentConfigLimitBytes = 256 * 1024;

/** Paths of variables in a document: their values stay as they were written. */
export const verbatimInConfig: readonly (readonly string[])[] = [['data'], ['spec'], ['spec', 'data']].flatMap((at) => [
  [...at, 'defaults', 'Deployment', 'env'],
  [...at, 'overrides', '*', 'env'],
]);

const form: Omit<DocumentForm<z.ZodType>, 'schema'> = {
  limitBytes: environmentConfigLimitBytes,
  empty: 'the file is empty; it needs apiVersion, kind, metadata and data',
  verbatim: verbatimInConfig,
};

type ConfigFor<S extends ConfigScope | undefined> = S extends ConfigScope
  ? Extract<EnvironmentConfig, { readonly type: S['type'] }>
  : EnvironmentConfig;

/** A document, or every fault in it. With a scope, labels for another scope are faults. Never throws, whatever the bytes are. */
export const parseEnvironmentConfig = <S extends ConfigScope | undefined = undefined>(
  bytes: Uint8Array,
  file: string,
  scope?: S,
): ParsedDocument<ConfigFor<S>> =>
  // Of another type than its scope, a document is at fault.
  parseDocument(bytes, file, {
    ...form,
    schema: scope === undefined ? environmentConfigSchema : schemaFor(scope),
  }) as ParsedDocument<ConfigFor<S>>;

const schemaFor = (scope: ConfigScope): typeof environmentConfigSchema =>
  document
    .superRefine(
      (given, context) => {
        for (const { key, message } of findForeignLabels(labelsOf(given) ?? {}, scope))
          context.addIssue({ code: 'custom', path: [...labelPath(key)], message });
      },
      { when: isMap },
    )
    .transform(toConfig);
