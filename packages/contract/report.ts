import type { Phase } from './condition.ts';
import type { Health } from './environment.ts';
import type { CommitSha, ComponentName, EnvironmentId, EnvironmentName } from './ids.ts';

/** What people are told about an environment, as data: each forge shows as much of it as it can. Without times that change by themselves. */
export interface ReportView {
  readonly name: EnvironmentName;
  readonly url: string;
  /** The phase, or that it is gone. */
  readonly phase: Phase | 'Removed';
  /** The most important thing to know now; empty when all is well. Once it is gone: why. */
  readonly summary: string;
  /** The commit Git asks for, or asked for last. */
  readonly commit: CommitSha;
  readonly components: readonly ReportedComponent[];
  /** What it waits for, each a sentence, with the time until then where that is known. */
  readonly waits: readonly { readonly reason: string; readonly until: string | null }[];
  /** Everything that is wrong, each a sentence that may hold several lines of somebody's output. */
  readonly faults: readonly string[];
  /** Worth knowing although nothing is wrong, such as a wish that nobody understands. */
  readonly notes: readonly string[];
  readonly createdAt: string | null;
  /** When its present version took over. */
  readonly updatedAt: string | null;
  readonly expiresAt: string | null;
  /** How it comes back once it is gone. */
  readonly restoreHint: string;
}

export interface ReportedComponent {
  readonly name: ComponentName;
  readonly health: Health;
  readonly message: string;
  readonly commit: CommitSha;
  /** The commit of the version that answers, which may be an older one; null when none does. */
  readonly serving: CommitSha | null;
  /** Such as `tree:<commit>` or an image with its digest; null where it is not known. */
  readonly artifact: string | null;
  readonly entry: boolean;
}

/** Whether two views tell people the same. */
export const isSameView = (a: ReportView, b: ReportView): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** What a comment about this environment begins with, unseen, so that it is found again. */
export const commentMarker = (environment: EnvironmentId): string => `<!-- eph:environment=${environment} -->`;

/**
 * Whether a comment is about this environment. Only its beginning counts: whoever quotes a comment quotes the marker too. Who wrote
 * it must be asked as well, because everybody can write a marker.
 */
export const isMarkedComment = (body: string, environment: EnvironmentId): boolean =>
  body.trimStart().startsWith(commentMarker(environment));
