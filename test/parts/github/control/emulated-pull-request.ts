import { addComment, deleteComment, editComment, ensureReaction } from '../state/comment-acts.ts';
import type { ReactionContent, ReviewState } from '../state/issue.ts';
import { closeIssue, editIssue, reopenIssue, reviewPull, setDraft } from '../state/issue-acts.ts';
import { ensureLabel, setLabels } from '../state/label-acts.ts';
import { mergePull } from '../state/merge-acts.ts';
import type { Comment, PullRequest } from '../state/repository.ts';
import type { World } from '../state/world.ts';
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

/** A pull request in the hands of people: what they do to it, and what they see. */
export class EmulatedPullRequest {
  readonly number: number;
  readonly #world: World;
  readonly #pull: PullRequest;

  constructor(world: World, pull: PullRequest) {
    this.number = pull.number;
    this.#world = world;
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
    const label = ensureLabel(this.#world, this.#pull.repository, name);
    setLabels(this.#world, this.#pull, [...this.#pull.labels, label], person(this.#world, by));
  }

  unlabel(name: string, { by }: By = {}): void {
    const left = this.#pull.labels.filter((label) => label.name.toLowerCase() !== name.toLowerCase());
    setLabels(this.#world, this.#pull, left, person(this.#world, by));
  }

  convertToDraft({ by }: By = {}): void {
    setDraft(this.#world, this.#pull, true, person(this.#world, by));
  }

  markReady({ by }: By = {}): void {
    setDraft(this.#world, this.#pull, false, person(this.#world, by));
  }

  edit(edit: { readonly title?: string; readonly body?: string; readonly base?: string }, { by }: By = {}): void {
    editIssue(this.#world, this.#pull, edit, person(this.#world, by));
  }

  close({ by }: By = {}): void {
    closeIssue(this.#world, this.#pull, person(this.#world, by));
  }

  reopen({ by }: By = {}): void {
    if (!reopenIssue(this.#world, this.#pull, person(this.#world, by)))
      throw new Error(`Pull request ${this.number} cannot be reopened: it was merged, or its branch is gone.`);
  }

  /** Returns the merge commit. */
  merge({ by }: By = {}): string {
    return mergePull(this.#world, this.#pull, person(this.#world, by));
  }

  review(state: ReviewState, { by, body = '' }: By & { readonly body?: string } = {}): void {
    reviewPull(this.#world, this.#pull, state, body, person(this.#world, by));
  }

  /** Returns the id of the comment. */
  comment(body: string, { by }: By = {}): number {
    return addComment(this.#world, this.#pull, body, person(this.#world, by)).id;
  }

  editComment(id: number, body: string, { by }: By = {}): void {
    editComment(this.#world, this.#find(id), body, person(this.#world, by));
  }

  deleteComment(id: number, { by }: By = {}): void {
    deleteComment(this.#world, this.#find(id), person(this.#world, by));
  }

  react(commentId: number, content: ReactionContent, { by }: By = {}): void {
    ensureReaction(this.#world, this.#find(commentId), content, person(this.#world, by));
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
