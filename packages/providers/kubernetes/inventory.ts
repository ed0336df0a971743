import { Buffer } from 'node:buffer';
import {
  type ComponentName,
  type ComponentVersion,
  type Identity,
  parseJson,
  recordedIdentity,
  recordedIds,
  recordedImages,
} from '@eph/contract';
import { textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';
import { z } from 'zod';
import { identityLabels, labels } from './marks.ts';

/** An object of a component. `namespace` is that of the environment for all but the namespace itself. */
const referenceSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  /** Of the fields that Eph applied, as the cluster knows them; absent until they are applied. */
  fields: z.string().exactOptional(),
});

/** Which object is meant: of each kind one has the name. */
export type ObjectReference = Readonly<z.output<typeof referenceSchema>>;

const versionSchema = z.object({
  revision: recordedIds.revision,
  commit: recordedIds.commit,
  images: recordedImages.exactOptional(),
  since: z.string(),
});

const serviceSchema = z.object({
  name: z.string(),
  ports: z.array(
    z.object({
      name: z.string().exactOptional(),
      port: z.int(),
      /** The number or the name of a port of a container. */
      target: z.union([z.int(), z.string()]),
    }),
  ),
});

export type InventoryService = z.output<typeof serviceSchema>;

const inventorySchema = z.object({
  format: z.literal(1),
  identity: recordedIdentity,
  component: recordedIds.component,
  dependsOn: z.array(recordedIds.component),
  entry: z.object({ service: z.string(), port: z.union([z.int(), z.string()]) }).nullable(),
  services: z.array(serviceSchema),
  /** Of the component that is the namespace: with which Secrets all others fetch their images. */
  pullSecrets: z.array(z.string()).exactOptional(),
  version: versionSchema.extend({
    /** False from before the first object is applied until after the last: what is there may be a half. */
    complete: z.boolean(),
    /** It served before, and then was replaced: it need not become ready to serve again. */
    served: z.literal(true).exactOptional(),
  }),
  /** What serves until the version does. Only where pods of both can run at once. */
  previous: versionSchema.nullable(),
  /** Of `version`, the workload first. */
  objects: z.array(referenceSchema),
  /** Of earlier versions. They go once nothing uses those any more. */
  prune: z.array(referenceSchema),
});

/** What a cluster holds of one component, and of which version: the only memory of the provider. No contents of objects. */
export type Inventory = Readonly<z.output<typeof inventorySchema>>;

export type RecordedVersion = Pick<ComponentVersion, 'revision' | 'commit' | 'images' | 'since'>;

export const inventoryKind = { apiVersion: 'v1', kind: 'Secret' } as const;

/** Found among other Secrets by this label. */
export const inventoryLabel = 'eph.io/inventory';

export const inventoryName = (component: ComponentName): string => `eph-component-${component}`;

export const toInventorySecret = (inventory: Inventory, namespace: string, owner: string): KubeObject => ({
  ...inventoryKind,
  metadata: {
    namespace,
    name: inventoryName(inventory.component),
    labels: { ...identityLabels(owner, inventory.identity.id, inventory.component), [inventoryLabel]: 'true' },
  },
  type: 'eph.io/inventory',
  data: { inventory: Buffer.from(JSON.stringify(inventory)).toString('base64') },
});

/** Undefined where somebody else changed it so that it means nothing. */
export const readInventory = (secret: KubeObject): Inventory | undefined => {
  const text = Buffer.from(textAt(secret, 'data', 'inventory') ?? '', 'base64').toString();
  const parsed = inventorySchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { identity, component } = parsed.data;
  // One that was copied from another namespace would speak for an environment that is not here.
  const isOwn = secret.metadata.labels?.[labels.environment] === identity.id && secret.metadata.name === inventoryName(component);
  return isOwn ? parsed.data : undefined;
};

/** On the namespace of the environment. */
export const readIdentity = (text: string | undefined): Identity | undefined => {
  const parsed = recordedIdentity.safeParse(parseJson(text ?? ''));
  return parsed.success ? parsed.data : undefined;
};

export const isSameObject = (a: ObjectReference, b: ObjectReference): boolean =>
  a.kind === b.kind && a.name === b.name && groupOf(a) === groupOf(b);

/** Versions of a group show the same objects. */
const groupOf = ({ apiVersion }: ObjectReference): string => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');
