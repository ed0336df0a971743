import type { Failure } from './errors.ts';

/**
 * Conditions follow the rules of Kubernetes: one per type, `reason` is a stable CamelCase word for machines, `message` is for people,
 * `lastTransitionTime` changes only with `status`, and `observedGeneration` names the desired state that was observed. Here that is
 * a commit: a counter would have to be stored and could be lost.
 */
export interface Condition {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: string;
}

/** The reason that a failure is: `registry.unreachable` is RegistryUnreachable. */
export const reasonOf = ({ code }: Failure): string =>
  code
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

export const conditionTypes = [
  /** The environment answers at its address with the wanted version. The summary of all others. */
  'Ready',
  /** Some version, not necessarily the wanted one, answers at the address. */
  'Available',
  /** `eph.yaml` at the commit could be read and understood. */
  'SpecValid',
  /** Work is under way or waits for something that is expected to happen. */
  'Progressing',
  /** A person or a new commit must act. */
  'Stalled',
  /**
   * Every image that a component names was found. Absent where none names one. Reasons: Resolved, WaitingForImage,
   * UsingFallbackImage, ImageNotFound, RegistryUnreachable, RegistryRefused; and others where something else did not answer, such as
   * ForgeUnreachable.
   */
  'ImagesResolved',
  /** Removal is due and the deletion guard waits for an operator. */
  'Held',
  /** `eph.yaml` asks for something that this version of Eph does not support yet. */
  'Unsupported',
  /** The platform's configuration could not be read or understood; the last valid one applies. */
  'ConfigurationStale',
  /** Something works otherwise than a file says, such as a fallback in use or an override for a component that does not exist. */
  'Warning',
] as const;
export type ConditionType = (typeof conditionTypes)[number];

export const phases = ['Pending', 'Progressing', 'Ready', 'Degraded', 'Failed', 'Removing', 'Held'] as const;

/**
 * The summary of the conditions.
 * - `Pending`: wanted, but nothing of it exists yet.
 * - `Progressing`: being created or updated.
 * - `Ready`: the wanted version answers.
 * - `Degraded`: a version answers, but not the wanted one, or something else is wrong.
 * - `Failed`: nothing answers, and waiting will not help.
 * - `Removing`: no longer wanted, being removed.
 * - `Held`: no longer wanted, kept until an operator releases it.
 */
export type Phase = (typeof phases)[number];
