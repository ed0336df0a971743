import type { ComponentName, EnvironmentId } from '@eph/contract';

/**
 * How Eph marks what is its own in a cluster. Nothing in a label changes with a commit: a label of a pod that
 * changed would start it anew.
 */
export const labels = {
  /** Which ephd it belongs to. */
  owner: 'eph.io/owner',
  environment: 'eph.io/environment',
  /** Absent on what belongs to the environment as a whole. */
  component: 'eph.io/component',
} as const;

export const annotations = {
  /** On the namespace: the whole identity, as JSON. */
  identity: 'eph.io/identity',
  /** On the namespace, `true` while the deletion guard keeps the environment. */
  held: 'eph.io/held',
} as const;

/** The field manager of everything that Eph applies. */
export const fieldManager = 'eph';

/** Labels of an object, of a pod template, and of volumes that a template asks for. */
export const identityLabels = (owner: string, environment: EnvironmentId, component?: ComponentName): Record<string, string> => ({
  [labels.owner]: owner,
  [labels.environment]: environment,
  ...(component !== undefined && { [labels.component]: component }),
});
