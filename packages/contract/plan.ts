import type { ErrorCode } from './errors.ts';
import type { ComponentName, EnvironmentId, EnvironmentName, ProviderName, Revision } from './ids.ts';

/** A component that moves has the same name on two providers. */
export interface PlacedComponent {
  readonly component: ComponentName;
  readonly provider: ProviderName;
}

/** One entry of the difference between desired and observed. `reason` is a sentence for people. */
export type Action =
  | {
      readonly type: 'create' | 'update';
      readonly component: ComponentName;
      readonly provider: ProviderName;
      readonly revision: Revision;
      readonly reason: string;
    }
  | {
      readonly type: 'destroy';
      readonly component: ComponentName;
      readonly provider: ProviderName;
      readonly reason: string;
      /** Components of this plan that use it, so their removals have to be over first. Absent where there are none. */
      readonly after?: readonly PlacedComponent[];
    }
  | {
      readonly type: 'wait';
      /** Absent when the whole environment waits. */
      readonly component?: ComponentName;
      readonly code: ErrorCode;
      readonly reason: string;
      /** When to check again at the latest, if only time has to pass. */
      readonly until?: string;
    };

/** What has to be done about one environment. Without actions, it is as it should be. */
export interface Plan {
  readonly environment: EnvironmentId;
  readonly name: EnvironmentName;
  /** Why the environment is wanted, or why it is not, or why that is unknown. */
  readonly because: string;
  /** Null where that could not be found out. */
  readonly wanted: boolean | null;
  readonly actions: readonly Action[];
}
