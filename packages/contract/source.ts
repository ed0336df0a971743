import { digest } from './digest.ts';
import type { CommitSha, ProjectId } from './ids.ts';

export const sourceKinds = ['branch', 'tag', 'pr'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Names a source for as long as it lives: the commit moves, this does not. */
export interface SourceRef {
  readonly kind: SourceKind;
  /** As Git spells it, without `refs/heads/` or `refs/tags/`; the number of a pull request. Never safe to use as a path or a host name. */
  readonly name: string;
}

/** What a forge knows of a pull request besides its commit. All of it was chosen by strangers. */
export interface PullRequest {
  readonly title: string;
  readonly author: string;
  readonly draft: boolean;
  /** Sorted, each once. */
  readonly labels: readonly string[];
  /** The branch it comes from. */
  readonly head: string;
  /** The branch it goes to. */
  readonly base: string;
  /** The repository its branch is in, when that is another one. */
  readonly fork: string | null;
  /** Where people see it. */
  readonly page: string;
  /** Changes whenever something about it does, comments and reviews included; as the forge writes it. */
  readonly touched: string;
}

/** A branch, tag or pull request of a project, at a commit. */
export interface Source {
  readonly project: ProjectId;
  readonly ref: SourceRef;
  /** Annotated tags are peeled: always a commit. */
  readonly commit: CommitSha;
  /** There for pull requests, and only for them. */
  readonly pull?: PullRequest;
}

/** A check or status of a commit. */
export interface Check {
  readonly name: string;
  readonly state: 'pending' | 'success' | 'failure';
}

/** A comment on a pull request that begins with `/`. */
export interface Command {
  readonly id: string;
  /** The first line, without spaces around it. */
  readonly text: string;
  readonly author: string;
  readonly mayWrite: boolean;
  readonly at: string;
  /** The head of the pull request when it was written; null when the forge cannot tell, and then it commands nothing. */
  readonly commit: CommitSha | null;
}

/** Somebody with write access approved a commit. */
export interface Approval {
  readonly author: string;
  readonly at: string;
}

/** One printable string per source, unique within its project. */
export const sourceKey = (ref: SourceRef): string => `${ref.kind}:${ref.name}`;

/** The mark of a reading of sources: the same for the same refs at the same commits, in the same order. */
export const markSources = (sources: readonly Source[]): string =>
  digest(
    sources
      .map(({ commit, ref, pull }) => `${commit} ${sourceKey(ref)}${pull === undefined ? '' : ` ${markPull(pull).digest}`}`)
      .join('\n'),
  );

interface PullMark {
  readonly text: string;
  /** Of the text: a look at a whole repository reads one for each pull request. */
  readonly digest: string;
}

/** Forges hand out the same objects while nothing changes, and a look asks for the marks of all of them. */
const pullMarks = new WeakMap<PullRequest, PullMark>();

const markPull = (pull: PullRequest): PullMark => {
  const known = pullMarks.get(pull);
  if (known !== undefined) return known;
  const { labels, title, author, draft, head, base, fork, touched } = pull;
  const text = JSON.stringify([labels, title, author, draft, head, base, fork, touched]);
  const mark = { text, digest: digest(text) };
  pullMarks.set(pull, mark);
  return mark;
};

/** Whether two looks at one source saw the same. */
export const isSameSource = (a: Source, b: Source): boolean =>
  a === b ||
  (a.commit === b.commit &&
    a.ref.name === b.ref.name &&
    a.ref.kind === b.ref.kind &&
    (a.pull === b.pull || (a.pull !== undefined && b.pull !== undefined && markPull(a.pull).text === markPull(b.pull).text)));

/** A repository as the list of its owner shows it. */
export interface ListedRepository {
  /** With its owner, such as `acme/shop`. */
  readonly path: string;
  /** Nothing can be written to it any more. */
  readonly archived: boolean;
}
