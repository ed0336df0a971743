import { digest } from './digest.ts';
import type { CommitSha, ProjectId } from './ids.ts';

export const sourceKinds = ['branch', 'tag', 'pr'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Identifies a source for as long as it exists: its commit changes, this does not. */
export interface SourceRef {
  readonly kind: SourceKind;
  /** Without `refs/heads/` or `refs/tags/`; the number of a pull request. Not safe to use as a path or a host name. */
  readonly name: string;
}

/** What a forge knows of a pull request besides its commit. All of it is untrusted. */
export interface PullRequest {
  readonly title: string;
  readonly author: string;
  readonly draft: boolean;
  /** Sorted, each once. */
  readonly labels: readonly string[];
  readonly head: string;
  readonly base: string;
  /** The repository of its branch, if that is another one. */
  readonly fork: string | null;
  readonly page: string;
  /** Changes with anything about it, comments and reviews included; in the forge's own format. */
  readonly touched: string;
}

/** A branch, tag or pull request of a project, at a commit. */
export interface Source {
  readonly project: ProjectId;
  readonly ref: SourceRef;
  /** Annotated tags are peeled: always a commit. */
  readonly commit: CommitSha;
  /** Present for pull requests only. */
  readonly pull?: PullRequest;
}

export const isFromFork = ({ pull }: Source): boolean => (pull?.fork ?? null) !== null;

export interface Check {
  readonly name: string;
  readonly state: 'pending' | 'success' | 'failure';
  /**
   * Untrusted: of a check run its summary and text, of a commit status its description, '' where there is none. As
   * `cutCheckText` returns it.
   */
  readonly text: string;
}

const checkTextLimit = 64 * 1024;

/** At most 64 Ki characters. Ends with a whole line if it is longer, because part of a line may mean something else. */
export const cutCheckText = (text: string): string =>
  text.length <= checkTextLimit ? text : text.slice(0, text.lastIndexOf('\n', checkTextLimit - 1) + 1);

/** Larger Git notes are refused. */
export const noteLimitBytes = 64 * 1024;

const notesNameLimit = 200;

/** Whether `refs/notes/<name>` is legal by the rules of `git check-ref-format`, and not too long. */
export const isNotesName = (name: string): boolean =>
  name.length <= notesNameLimit &&
  name.isWellFormed() &&
  !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$/.test(name) &&
  name.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));

/** A comment on a pull request that begins with `/`. */
export interface Command {
  readonly id: string;
  /** The first line, without spaces around it. */
  readonly text: string;
  readonly author: string;
  readonly mayWrite: boolean;
  readonly at: string;
  /** The head of the pull request when it was written; null when the forge does not know, and then the command is ignored. */
  readonly commit: CommitSha | null;
}

/** Somebody with write access approved a commit. */
export interface Approval {
  readonly author: string;
  readonly at: string;
}

/** One printable string per source, unique within its project. */
export const sourceKey = (ref: SourceRef): string => `${ref.kind}:${ref.name}`;

const kindNames = { branch: 'branch', tag: 'tag', pr: 'pull request' } as const;

/** For people: `branch main`, `pull request 42`. */
export const describeSource = ({ kind, name }: SourceRef): string => `${kindNames[kind]} ${name}`;

/** The mark of a reading of sources: equal for the same refs at the same commits in the same order. */
export const markSources = (sources: readonly Source[]): string =>
  digest(
    sources
      .map(({ commit, ref, pull }) => `${commit} ${sourceKey(ref)}${pull === undefined ? '' : ` ${markPull(pull).digest}`}`)
      .join('\n'),
  );

interface PullMark {
  readonly text: string;
  readonly digest: string;
}

/** Forges return the same objects while nothing changes, and every reading needs the marks of all of them. */
const pullMarks = new WeakMap<PullRequest, PullMark>();

const markPull = (pull: PullRequest): PullMark => {
  const cached = pullMarks.get(pull);
  if (cached !== undefined) return cached;
  const { labels, title, author, draft, head, base, fork, touched } = pull;
  const text = JSON.stringify([labels, title, author, draft, head, base, fork, touched]);
  const mark = { text, digest: digest(text) };
  pullMarks.set(pull, mark);
  return mark;
};

export const isSameSource = (a: Source, b: Source): boolean =>
  a === b ||
  (a.commit === b.commit &&
    a.ref.name === b.ref.name &&
    a.ref.kind === b.ref.kind &&
    (a.pull === b.pull || (a.pull !== undefined && b.pull !== undefined && markPull(a.pull).text === markPull(b.pull).text)));

export interface ListedRepository {
  /** With its owner, such as `acme/shop`. */
  readonly path: string;
  readonly archived: boolean;
}
