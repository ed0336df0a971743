import {
  type Approval,
  type Check,
  type Command,
  type CommitSha,
  completeReading,
  cutCheckText,
  EphError,
  incompleteReading,
  type ProjectId,
  type PullRequest,
  type Reading,
  type Source,
  type SourceRef,
  sourceKey,
  toFailure,
} from '@eph/contract';
import type { Pulls } from './pulls.ts';

/** The repository under fake pull requests. */
interface Repository {
  readonly project: ProjectId;
  readonly refs: Map<string, Source>;
  readonly commits: ReadonlyMap<CommitSha, ReadonlyMap<string, string>>;
  headOf(branch: string, fork: string | null): CommitSha | undefined;
  now(): number;
}

type NewPullRequest = Pick<PullRequest, 'head'> & Partial<Omit<PullRequest, 'head' | 'page' | 'touched'>>;

type NewCheck = Omit<Check, 'text'> & Partial<Pick<Check, 'text'>>;

interface State {
  readonly ref: SourceRef;
  pull: PullRequest;
  commit: CommitSha;
  isOpen: boolean;
  readonly labelledAt: Map<string, string>;
  readonly comments: Comment[];
  readonly approvals: (Approval & { readonly commit: CommitSha })[];
}

interface Comment extends Omit<Command, 'mayWrite'> {
  readonly reactions: string[];
}

/** The pull requests of a repository in memory. */
export class FakePullRequests {
  readonly writers = new Set(['alice']);
  defaultBranch = 'main';
  readonly checks = new Map<CommitSha, Map<string, Check>>();
  readonly #repository: Repository;
  readonly #states = new Map<string, State>();
  #changes = 0;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  open({
    head,
    base = 'main',
    title = head,
    author = 'alice',
    draft = false,
    labels = [],
    fork = null,
  }: NewPullRequest): SourceRef {
    const ref: SourceRef = { kind: 'pr', name: `${this.#states.size + 1}` };
    const page = `https://forge.example/${this.#repository.project}/pulls/${ref.name}`;
    const pull = { title, author, draft, labels: [], head, base, fork, page, touched: '' };
    const commit = this.#headOf(pull);
    const state: State = { ref, pull, commit, isOpen: true, labelledAt: new Map(), comments: [], approvals: [] };
    this.#states.set(ref.name, state);
    this.#change(state);
    for (const label of labels) this.label(ref, label);
    return ref;
  }

  edit(ref: SourceRef, changes: Partial<Pick<PullRequest, 'title' | 'draft' | 'base'>>): void {
    this.#change(this.find(ref), changes);
  }

  close(ref: SourceRef): void {
    const state = this.find(ref);
    state.isOpen = false;
    this.#change(state);
  }

  reopen(ref: SourceRef): void {
    const state = this.find(ref);
    state.commit = this.#headOf(state.pull);
    state.isOpen = true;
    this.#change(state);
  }

  label(ref: SourceRef, label: string): void {
    const state = this.find(ref);
    if (state.labelledAt.has(label)) return;
    state.labelledAt.set(label, this.#now());
    this.#change(state, { labels: [...state.labelledAt.keys()].toSorted() });
  }

  unlabel(ref: SourceRef, label: string): void {
    const state = this.find(ref);
    if (!state.labelledAt.delete(label)) return;
    this.#change(state, { labels: [...state.labelledAt.keys()].toSorted() });
  }

  comment(ref: SourceRef, author: string, text: string): void {
    const state = this.find(ref);
    this.#change(state);
    state.comments.push({ id: `${this.#changes}`, text, author, at: this.#now(), commit: state.commit, reactions: [] });
  }

  approve(ref: SourceRef, author: string): void {
    const state = this.find(ref);
    state.approvals.push({ author, at: this.#now(), commit: state.commit });
    this.#change(state);
  }

  /** Does not touch the pull request, as on real forges. */
  setCheck(commit: CommitSha, { name, state, text = '' }: NewCheck): void {
    const checks = this.checks.get(commit) ?? new Map<string, Check>();
    this.checks.set(commit, checks.set(name, { name, state, text: cutCheckText(text) }));
  }

  /** Moves the pull requests of a branch, or closes them if the branch was deleted. */
  branchMoved(branch: string, fork: string | null): void {
    const commit = this.#repository.headOf(branch, fork);
    for (const state of this.#states.values()) {
      if (!state.isOpen || state.pull.head !== branch || state.pull.fork !== fork) continue;
      if (commit === undefined) state.isOpen = false;
      else state.commit = commit;
      this.#change(state);
    }
  }

  changedPaths({ pull, commit }: Source): readonly string[] {
    const { refs, commits } = this.#repository;
    const base = refs.get(sourceKey({ kind: 'branch', name: pull?.base ?? '' }));
    const before = (base && commits.get(base.commit)) ?? new Map<string, string>();
    const after = commits.get(commit) ?? new Map<string, string>();
    return [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path)).toSorted();
  }

  find(ref: SourceRef): Readonly<State> & Pick<State, 'pull' | 'commit' | 'isOpen'> {
    const state = ref.kind === 'pr' ? this.#states.get(ref.name) : undefined;
    if (state === undefined) throw new EphError('forge.refused', `there is no ${sourceKey(ref)}`);
    return state;
  }

  #headOf({ head, fork }: PullRequest): CommitSha {
    const commit = this.#repository.headOf(head, fork);
    if (commit === undefined) throw new Error(`there is no branch ${head}`);
    return commit;
  }

  #change(state: State, changes: Partial<PullRequest> = {}): void {
    this.#changes += 1;
    state.pull = { ...state.pull, ...changes, touched: `${this.#changes}` };
    const { ref, commit, pull } = state;
    const { project, refs } = this.#repository;
    if (state.isOpen) refs.set(sourceKey(ref), { project, ref, commit, pull });
    else refs.delete(sourceKey(ref));
  }

  #now(): string {
    return new Date(this.#repository.now()).toISOString();
  }
}

/** `disturb` is awaited before every operation; what it throws makes the operation fail. */
export const createFakePulls = (pullRequests: FakePullRequests, disturb: () => Promise<void>): Pulls => {
  const read = async <T>(items: () => readonly T[]): Promise<Reading<T>> => {
    try {
      await disturb();
      return completeReading(items());
    } catch (error) {
      return incompleteReading([], toFailure(error));
    }
  };
  const mayWrite = ({ author }: { readonly author: string }): boolean => pullRequests.writers.has(author);
  return {
    checks: (commit) => read(() => [...(pullRequests.checks.get(commit)?.values() ?? [])]),
    commands: (ref) =>
      read(() =>
        pullRequests.find(ref).comments.flatMap(({ reactions: _, ...comment }) => {
          const text = (comment.text.split('\n', 1)[0] ?? '').trim();
          return text.startsWith('/') ? [{ ...comment, text, mayWrite: mayWrite(comment) }] : [];
        }),
      ),
    async acknowledge(ref, command) {
      await disturb();
      const reactions = pullRequests.find(ref).comments.find(({ id }) => id === command.id)?.reactions;
      if (reactions?.length === 0) reactions.push('eyes');
    },
    approvals: (ref, commit) =>
      read(() =>
        pullRequests
          .find(ref)
          .approvals.filter((one) => one.commit === commit && mayWrite(one))
          .map(({ author, at }) => ({ author, at })),
      ),
    async defaultBranch() {
      await disturb();
      return pullRequests.defaultBranch;
    },
    changedPaths: (source) => read(() => pullRequests.changedPaths(source)),
    async labelledAt(ref, label) {
      await disturb();
      return pullRequests.find(ref).labelledAt.get(label);
    },
    async addLabel(ref, label) {
      await disturb();
      pullRequests.label(ref, label);
    },
    async removeLabel(ref, label) {
      await disturb();
      pullRequests.unlabel(ref, label);
    },
  };
};
