import type { EnvironmentId } from '@eph/contract';

export interface DeletionBound {
  readonly atLeast: number;
  readonly share: number;
}

export const defaultDeletionBound: DeletionBound = { atLeast: 5, share: 0.2 };

export interface GuardInput {
  /** Environments that no source wants, in a stable order. */
  readonly candidates: readonly EnvironmentId[];
  /** How many environments the project has. */
  readonly total: number;
  /** Git names nothing at all any more: no branch, no tag, no pull request. */
  readonly vanished: boolean;
  /** Whether Git was read completely. Candidates are only what complete readings of their providers show. */
  readonly complete: boolean;
  /** Held by an earlier pass, or on a provider that is no longer configured; they stay held until released. */
  readonly held: ReadonlySet<EnvironmentId>;
  /** Whose hold is written on the infrastructure, or needs no writing. */
  readonly written: ReadonlySet<EnvironmentId>;
  /** One that could not be read now is held, and its hold may not be written. */
  readonly unwrittenElsewhere: boolean;
  /** Released by an operator. */
  readonly released: ReadonlySet<EnvironmentId>;
  /** Nothing is remembered of earlier passes, as after a start: how many went before is unknown. */
  readonly first: boolean;
  readonly bound: DeletionBound;
}

export interface GuardAnswer {
  /** May be removed, once their one source has been read again. */
  readonly permitted: ReadonlySet<EnvironmentId>;
  /** Must stay until an operator releases them. */
  readonly held: ReadonlySet<EnvironmentId>;
}

/** The last two pull requests may well be closed at once. */
const few = 2;

/**
 * How many environments one pass may remove. Many at once is more often a broken forge than a busy afternoon, and a held
 * environment costs less than a lost one. On the first pass after a start the bound is all or nothing: otherwise a daemon that
 * is restarted over and over would remove a bound's worth each time. A project of which nothing is left at all removes nothing.
 * Holds are written before anything goes: after a crash in between, those held would be few enough to be removed.
 */
export const guardDeletions = (input: GuardInput): GuardAnswer => {
  const held = new Set(input.candidates.filter((id) => input.held.has(id) && !input.released.has(id)));
  if (!input.complete) return { permitted: new Set(), held };
  const fresh = input.candidates.filter((id) => !input.held.has(id) && !input.released.has(id));
  const limit = deletionLimit(input.total, input.bound);
  const allowed = input.vanished && input.total > few ? 0 : fresh.length <= limit ? fresh.length : input.first ? 0 : limit;
  const released = input.candidates.filter((id) => input.released.has(id));
  const allHeld = new Set([...held, ...fresh.slice(allowed)]);
  const isWritten = !input.unwrittenElsewhere && [...allHeld].every((id) => input.written.has(id));
  return { permitted: new Set([...released, ...(isWritten ? fresh.slice(0, allowed) : [])]), held: allHeld };
};

export const deletionLimit = (total: number, bound: DeletionBound): number =>
  Math.max(bound.atLeast, Math.floor(total * bound.share));
