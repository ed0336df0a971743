import type { Phase } from './condition.ts';
import type { Health } from './environment.ts';
import type { CommitSha, ComponentName, EnvironmentId, EnvironmentName } from './ids.ts';
import type { PinnedImage } from './image.ts';
import type { Command } from './source.ts';

/** The report about an environment, as data. Each forge shows what it can. It has no relative times, which would always change. */
export interface ReportView {
  readonly name: EnvironmentName;
  readonly url: string;
  readonly phase: Phase | 'Removed';
  /** The most important fact; empty when all is well. After removal, the reason for it. */
  readonly summary: string;
  /** The desired commit; after removal, the last one. */
  readonly commit: CommitSha;
  readonly components: readonly ReportedComponent[];
  /** What it waits for, one sentence each, and until when if that is known. */
  readonly waits: readonly { readonly reason: string; readonly until: string | null }[];
  /** Everything that is wrong. Each may quote several lines of output. */
  readonly faults: readonly string[];
  /** Worth knowing although nothing is wrong, such as a label that Eph does not know. */
  readonly notes: readonly string[];
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly expiresAt: string | null;
  /** How to get it back after removal. */
  readonly restoreHint: string;
}

export interface ReportedComponent {
  readonly name: ComponentName;
  readonly health: Health;
  readonly message: string;
  readonly commit: CommitSha;
  /** The commit of the version that answers, perhaps an older one; null when none does. */
  readonly serving: CommitSha | null;
  readonly images: readonly Pick<PinnedImage, 'reference' | 'tag'>[];
  readonly entry: boolean;
}

export const isSameView = (a: ReportView, b: ReportView): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** The invisible first line of a comment about this environment, by which it is found again. */
export const commentMarker = (environment: EnvironmentId): string => `<!-- eph:environment=${environment} -->`;

/** The same for a comment that answers a command. */
export const answerMarker = (command: Pick<Command, 'id'>): string => `<!-- eph:answer=${command.id} -->`;

/**
 * Whether a comment is about this environment. Only its beginning counts, because a quoted comment contains the marker too. The
 * caller must also check the author, because anybody can write a marker.
 */
export const isMarkedComment = (body: string, environment: EnvironmentId): boolean =>
  body.trimStart().startsWith(commentMarker(environment));
