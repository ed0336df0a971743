import {
  type Command,
  type CommitSha,
  type EnvironmentId,
  type Failure,
  isSameSource,
  type ParsedSpec,
  type Reading,
  type Source,
  type SourceKind,
  type SourceRef,
} from '@eph/contract';
import type { ShortCommand } from './commands.ts';

/** What Git says about one source: it wants an environment, it does not, or that could not be found out. */
export type Decision =
  | { readonly state: 'wanted'; readonly because: string; readonly spec: ParsedSpec | 'missing'; readonly terms?: Terms }
  | { readonly state: 'unwanted'; readonly because: string }
  | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };

export type Wanted = Decision & { readonly state: 'wanted' };

export const unwanted = (because: string): Decision & { state: 'unwanted' } => ({ state: 'unwanted', because });

/** The file of a wanted source, if it could be understood. */
export const soundSpecOf = (decision: Decision): (ParsedSpec & { ok: true }) | undefined =>
  decision.state === 'wanted' && decision.spec !== 'missing' && decision.spec.ok ? decision.spec : undefined;

/** Reading again will not help; a new commit will. */
export const isFinal = ({ fault }: Decision & { state: 'unknown' }): boolean =>
  fault.disposition === 'stall' && fault.code !== 'forge.refused';

/** Whether two decisions ask for the same environment, on the same terms. */
export const isSameDecision = (a: Decision, b: Decision): boolean =>
  a === b ||
  (a.state === b.state &&
    (a.state !== 'wanted' ||
      b.state !== 'wanted' ||
      (a.spec === b.spec && (a.terms === b.terms || JSON.stringify(a.terms) === JSON.stringify(b.terms)))));

/** On which terms a source wants its environment; absent where there are none. */
export interface Terms {
  /** Checks that must have succeeded first. */
  readonly checks: readonly string[];
  /** The comment that asked for it. */
  readonly command?: Command;
  /** Nothing of it is changed for now. */
  readonly paused: boolean;
  /** It does not expire before policy says so. */
  readonly kept: boolean;
  /** The time to live that a label asks for. */
  readonly ttlSeconds?: number;
  /** From a fork: it gets no variable that the operator gave to the project. */
  readonly isolated: boolean;
  /** Notes for the people who set the labels. */
  readonly notes: readonly string[];
}

/** The branch whose file a fork gets; no commit where it does not exist. */
export interface Base {
  readonly branch: string;
  readonly commit: CommitSha | undefined;
}

/** What was decided about one source at one commit; a commit never changes, so neither does the decision. */
export interface Decided {
  /** As the forge listed it. */
  readonly source: Source;
  /** What its environment is made of: the source, or the source at the commit that was asked for. */
  readonly made: Source;
  readonly base?: Base;
  /** A command that is answered with the line to write. */
  readonly short?: ShortCommand;
  readonly decision: Decision;
  /** Absent when the source wants none. */
  readonly environment: EnvironmentId | undefined;
}

/** By kind and then by name: one joined key would be a new string for every source in every pass. */
export class Decisions {
  readonly #byKind: Readonly<Record<SourceKind, Map<string, Decided>>> = { branch: new Map(), tag: new Map(), pr: new Map() };
  readonly #inOrder: readonly Decided[];
  readonly #mark: string | undefined;

  constructor(inOrder: readonly Decided[] = [], mark?: string) {
    this.#mark = mark;
    this.#inOrder = inOrder;
    for (const decided of inOrder) this.#byKind[decided.source.ref.kind].set(decided.source.ref.name, decided);
  }

  get(ref: SourceRef): Decided | undefined {
    return this.#byKind[ref.kind].get(ref.name);
  }

  values(): readonly Decided[] {
    return this.#inOrder;
  }

  /** Whether these are the very sources and commits that were decided about, in the same order. */
  areAbout({ items, mark }: Reading<Source>): boolean {
    if (mark !== undefined && mark === this.#mark) return true;
    return items.length === this.#inOrder.length && this.#inOrder.every(({ source }, index) => isSame(source, items[index]));
  }
}

const isSame = (a: Source, b: Source | undefined): boolean => b !== undefined && isSameSource(a, b);
