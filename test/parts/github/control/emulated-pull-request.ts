import { addComment, deleteComment, editComment } from '../state/comment-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import type { ReviewState } from '../state/issue.ts';
import { closeIssue, editIssue, reopenIssue, reviewPull, setDraft } from '../state/issue-mutations.ts';
import { ensureLabel, setLabels } from '../state/label-mutations.ts';
import { mergePull } from '../state/merge-mutations.ts';
import type { Comment, PullRequest } from '../state/repository.ts';
import { type By, person } from './person.ts';

export interface SeenComment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** For instance `eyes by eph[bot]`. */
  readonly reactions: readonly string[];
}

/** A pull request as its users see and change it. */
export class EmulatedPullRequest {
  readonly number: number;
  readonly #github: GithubState;
  readonly #pull: PullRequest;

  constructor(github: GithubState, pull: PullRequest) {
    this.number = pull.number;
    this.#github = github;
    this.#pull = pull;
  }

  get headSha(): string {
    return this.#pull.headSha;
  }

  get state(): 'open' | 'closed' | 'merged' {
    return this.#pull.merged === undefined ? this.#pull.state : 'merged';
  }

  get labels(): readonly string[] {
    return this.#pull.labels.map(({ name }) => name);
  }

  label(name: string, { by }: By = {}): void {
    const label = ensureLabel(this.#github, this.#pull.repository, name);
    setLabels(this.#github, this.#pull, [...this.#pull.labels, label], person(this.#github, by));
  }

  unlabel(name: string, { by }: By = {}): void {
    const left = this.#pull.labels.filter((label) => label.name.toLowerCase() !== name.toLowerCase());
    setLabels(this.#github, this.#pull, left, person(this.#github, by));
  }

  convertToDraft({ by }: By = {}): void {
    setDraft(this.#github, this.#pull, true, person(this.#github, by));
  }

  markReady({ by }: By = {}): void {
    setDraft(this.#github, this.#pull, false, person(this.#github, by));
  }

  edit(edit: { readonly title?: string; readonly body?: string; readonly base?: string }, { by }: By = {}): void {
    editIssue(this.#github, this.#pull, edit, person(this.#github, by));
  }

  close({ by }: By = {}): void {
    closeIssue(this.#github, this.#pull, person(this.#github, by));
  }

  reopen({ by }: By = {}): void {
    if (!reopenIssue(this.#github, this.#pull, person(this.#github, by)))
      throw new Error(`Pull request ${this.number} cannot be reopened: it was merged, or its branch is gone.`);
  }

  /** Returns the merge commit. */
  merge({ by }: By = {}): string {
    return mergePull(this.#github, this.#pull, person(this.#github, by));
  }

  review(state: ReviewState, { by, body = '' }: By & { readonly body?: string } = {}): void {
    reviewPull(this.#github, this.#pull, state, body, person(this.#github, by));
  }

  /** Returns the id of the comment. */
  comment(body: string, { by }: By = {}): number {
    return addComment(this.#github, this.#pull, body, person(this.#github, by)).id;
  }

  editComment(id: number, body: string, { by }: By = {}): void {
    editComment(this.#github, this.#find(id), body, person(this.#github, by));
  }

  deleteComment(id: number, { by }: By = {}): void {
    deleteComment(this.#github, this.#find(id), person(this.#github, by));
  }

  comments(): readonly SeenComment[] {
    return this.#pull.comments.map(({ id, author, body, createdAt, updatedAt, reactions }) => ({
      id,
      author: author.login,
      body,
      createdAt,
      updatedAt,
      reactions: reactions.map(({ content, user }) => `${content} by ${user.login}`),
    }));
  }

  #find(id: number): Comment {
    const comment = this.#pull.comments.find((one) => one.id === id);
    if (comment === undefined) throw new Error(`Pull request ${this.number} has no comment ${id}.`);
    return comment;
  }
}
