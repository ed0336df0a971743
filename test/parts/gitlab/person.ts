import type { FileChanges } from '../emulation/bare-repository.ts';
import { approve } from './state/approvals.ts';
import type { Environment, Group, MergeRequest, Project, Role, User, Visibility } from './state/entities.ts';
import { deleteEnvironment, stopEnvironment } from './state/environments.ts';
import { type MergeRequestUpdate, mergeMergeRequest, openMergeRequest, updateMergeRequest } from './state/merge-requests.ts';
import { addNote, deleteNote, editNote, findNote } from './state/notes.ts';
import { addMember, createProject, deleteProject, ensureGroup, moveProject, removeMember } from './state/projects.ts';
import { createTag, deleteBranch, deleteTag, push } from './state/refs.ts';
import { noRecord } from './state/refusal.ts';
import type { GitlabState } from './state/state.ts';

/** A merge request by project and number. */
export interface MergeRequestAt {
  readonly project: string;
  readonly iid: number;
}

export interface OpenMergeRequest {
  readonly source: string;
  readonly target?: string;
  readonly title?: string;
  readonly description?: string;
  readonly labels?: readonly string[];
  readonly draft?: boolean;
  /** The fork the branch is in. */
  readonly from?: string;
}

/**
 * A user of GitLab with a browser and `git push`. Projects and groups are named by their paths. What the person may not do
 * throws a `Refusal`, as the API would answer.
 */
export class Person {
  readonly user: User;
  readonly #state: GitlabState;

  constructor(state: GitlabState, user: User) {
    this.#state = state;
    this.user = user;
  }

  get username(): string {
    return this.user.username;
  }

  /** With all groups above it, owned by this person. */
  createGroup(path: string, visibility: Visibility = 'private'): number {
    return ensureGroup(this.#state, this.user, path, visibility).id;
  }

  /** In a group of that path, or under the person's own name. With files, the default branch holds them. */
  async createProject(
    path: string,
    { visibility = 'private', files }: { readonly visibility?: Visibility; readonly files?: FileChanges } = {},
  ): Promise<number> {
    const { id } = createProject(this.#state, this.user, path, visibility);
    if (files !== undefined) await this.push(path, 'main', files);
    return id;
  }

  async fork(project: string, into: string): Promise<number> {
    const parent = this.#project(project);
    const fork = createProject(this.#state, this.user, into, parent.visibility, parent);
    if (parent.repository !== undefined) await (await this.#state.repositoryOf(fork)).takeAll(parent.repository);
    return fork.id;
  }

  invite(where: string, person: Person, role: Role): void {
    addMember(this.#state, this.#projectOrGroup(where), person.user, role);
  }

  expel(where: string, person: Person): void {
    removeMember(this.#state, this.#projectOrGroup(where), person.user);
  }

  renameProject(project: string, path: string): void {
    moveProject(this.#state, this.user, this.#project(project), path);
  }

  setVisibility(project: string, visibility: Visibility): void {
    this.#project(project).visibility = visibility;
    this.#state.touch();
  }

  archive(project: string): void {
    this.#project(project).archived = true;
    this.#state.touch();
  }

  deleteProject(project: string): void {
    deleteProject(this.#state, this.#project(project));
  }

  /** As on the web page: the project stays readable until its deletion date. */
  scheduleDeletion(project: string): void {
    this.#project(project).markedForDeletionAt = this.#state.now();
    this.archive(project);
  }

  /** One commit on top of the branch, which starts from the default branch if it is new. Returns the commit. */
  push(
    project: string,
    branch: string,
    changes: FileChanges,
    { message = `Change ${branch}`, from }: { readonly message?: string; readonly from?: string } = {},
  ): Promise<string> {
    return push(this.#state, this.user, this.#project(project), { branch, changes, message, from });
  }

  /** The branch starts again from `from`, or from the default branch, with one commit. */
  forcePush(project: string, branch: string, changes: FileChanges, from?: string): Promise<string> {
    return push(this.#state, this.user, this.#project(project), {
      branch,
      changes,
      message: `Change ${branch} again`,
      from,
      force: true,
    });
  }

  deleteBranch(project: string, branch: string): Promise<void> {
    return deleteBranch(this.#state, this.user, this.#project(project), branch);
  }

  tag(project: string, name: string, ref: string, message?: string): Promise<void> {
    return createTag(this.#state, this.user, this.#project(project), name, ref, message);
  }

  deleteTag(project: string, name: string): Promise<void> {
    return deleteTag(this.#state, this.user, this.#project(project), name);
  }

  async openMergeRequest(project: string, wanted: OpenMergeRequest): Promise<MergeRequestAt> {
    const { source, target = 'main', title = `Merge ${source}`, description, labels, draft = false, from = project } = wanted;
    const { iid } = await openMergeRequest(this.#state, this.user, this.#project(project), {
      source: this.#project(from),
      sourceBranch: source,
      targetBranch: target,
      title: draft ? `Draft: ${title}` : title,
      description,
      labels,
    });
    return { project, iid };
  }

  label(at: MergeRequestAt, ...labels: readonly string[]): void {
    this.#update(at, { addLabels: labels });
  }

  unlabel(at: MergeRequestAt, ...labels: readonly string[]): void {
    this.#update(at, { removeLabels: labels });
  }

  markDraft(at: MergeRequestAt): void {
    this.#update(at, { title: `Draft: ${this.#merge(at).title}` });
  }

  markReady(at: MergeRequestAt): void {
    this.#update(at, { title: this.#merge(at).title.replace(/^\s*(\[draft\]|\(draft\)|draft:)\s*/iu, '') });
  }

  rename(at: MergeRequestAt, title: string): void {
    this.#update(at, { title });
  }

  describe(at: MergeRequestAt, description: string): void {
    this.#update(at, { description });
  }

  retarget(at: MergeRequestAt, targetBranch: string): void {
    this.#update(at, { targetBranch });
  }

  close(at: MergeRequestAt): void {
    this.#update(at, { stateEvent: 'close' });
  }

  reopen(at: MergeRequestAt): void {
    this.#update(at, { stateEvent: 'reopen' });
  }

  merge(at: MergeRequestAt): Promise<void> {
    return mergeMergeRequest(this.#state, this.user, this.#merge(at));
  }

  approve(at: MergeRequestAt): void {
    approve(this.#state, this.user, this.#merge(at));
  }

  /** Returns the id of the note. */
  comment(at: MergeRequestAt, body: string): number {
    return addNote(this.#state, this.user, this.#merge(at), body).id;
  }

  editComment(at: MergeRequestAt, note: number, body: string): void {
    editNote(this.#state, this.user, findNote(this.#merge(at), String(note)), body);
  }

  /** The stop button of an environment's page. */
  pressStop(project: string, name: string): void {
    stopEnvironment(this.#state, this.#environment(project, name));
  }

  deleteEnvironment(project: string, name: string): void {
    deleteEnvironment(this.#state, this.#project(project), this.#environment(project, name));
  }

  deleteComment(at: MergeRequestAt, note: number): void {
    deleteNote(this.#state, this.user, findNote(this.#merge(at), String(note)));
  }

  /** For all events that the emulator knows. */
  addWebhook(project: string, url: string, token?: string): void {
    this.#project(project).hooks.push({ url, token });
  }

  #update(at: MergeRequestAt, update: MergeRequestUpdate): void {
    updateMergeRequest(this.#state, this.user, this.#merge(at), update);
  }

  #environment(project: string, name: string): Environment {
    const found = [...this.#project(project).environments.values()].find((environment) => environment.name === name);
    if (found === undefined) throw noRecord();
    return found;
  }

  #project(path: string): Project {
    const project = this.#state.findProject(path);
    if (project === undefined) throw new Error(`there is no project ${path}`);
    return project;
  }

  #projectOrGroup(path: string): Project | Group {
    return this.#state.findGroup(path) ?? this.#project(path);
  }

  #merge({ project, iid }: MergeRequestAt): MergeRequest {
    const merge = this.#project(project).mergeRequests.get(iid);
    if (merge === undefined) throw new Error(`there is no merge request ${project}!${iid}`);
    return merge;
  }
}
