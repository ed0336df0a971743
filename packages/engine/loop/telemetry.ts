import type { Action, EnvironmentId, EnvironmentStatus, Failure, ProjectId } from '@eph/contract';

/** What the loop tells whoever runs it: logs and metrics are made from these, in one place each. */
export interface Telemetry {
  /** Work on a key begins or ends. Several may run at the same time. */
  began(key: string): void;
  ended(key: string): void;
  passFinished(milliseconds: number): void;
  projectRead(project: ProjectId, faults: readonly Failure[]): void;
  acted(environment: EnvironmentId, name: string, action: Action, failure: Failure | undefined): void;
  statusChanged(environment: EnvironmentId, name: string, status: EnvironmentStatus): void;
  failed(key: string, failure: Failure): void;
}

export const noteActions = (telemetry: Telemetry, note: () => void): Telemetry => ({
  ...telemetry,
  acted(...args) {
    note();
    telemetry.acted(...args);
  },
});
