import type { MergeRequestAt } from './person.ts';
import { fullPath, type MergeRequest, type Project } from './state/entities.ts';
import type { GitlabState } from './state/state.ts';
import { instant, type Json, representLabelBasic, representProject } from './views/represent.ts';
import { representCommitStatus, representDeployment, representEnvironment } from './views/represent-delivery.ts';
import { labelsOf, representMergeRequest, representNote } from './views/represent-merge-request.ts';

/** Reads the state of GitLab directly, without tokens, pages or failures. */
export class Reader {
  readonly #state: GitlabState;

  constructor(state: GitlabState) {
    this.#state = state;
  }

  /** All paths, in the order of creation. */
  projects(): readonly string[] {
    return [...this.#state.projects.values()].map(fullPath);
  }

  project(path: string): Json<'project'> {
    const project = this.#project(path);
    return representProject(this.#state, project.creator, project);
  }

  mergeRequest(at: MergeRequestAt): Json<'mergeRequest'> {
    const merge = this.#merge(at);
    return representMergeRequest(this.#state, merge.author, merge, null);
  }

  labels(at: MergeRequestAt): readonly string[] {
    return labelsOf(this.#merge(at)).map((label) => representLabelBasic(label).name);
  }

  /** Oldest first, including system notes. */
  notes(at: MergeRequestAt): readonly Json<'note'>[] {
    return [...this.#merge(at).notes.values()].map((note) => representNote(this.#state, note));
  }

  /** Notes of users and bots, oldest first. */
  comments(
    at: MergeRequestAt,
  ): readonly { readonly id: number; readonly author: string; readonly body: string; readonly updatedAt: string }[] {
    const written = [...this.#merge(at).notes.values()].filter((note) => !note.system);
    return written.map(({ id, author, body, updatedAt }) => ({
      id,
      author: author.username,
      body,
      updatedAt: instant(updatedAt),
    }));
  }

  /** To a note; for instance `alice eyes`. */
  reactions(at: MergeRequestAt, note: number): readonly string[] {
    const awards = this.#merge(at).notes.get(note)?.awards ?? [];
    return awards.map(({ user, name }) => `${user.username} ${name}`);
  }

  /** All that were ever set on a commit, oldest first. */
  statuses(project: string, sha: string): readonly Json<'commitStatus'>[] {
    const found = this.#project(project).statuses.filter((status) => status.pipeline.sha === sha);
    return found.map((status) => representCommitStatus(this.#state, status));
  }

  environments(project: string): readonly Json<'environment'>[] {
    return [...this.#project(project).environments.values()].map(representEnvironment);
  }

  deployments(project: string): readonly Json<'deployment'>[] {
    return [...this.#project(project).deployments.values()].map((deployment) => representDeployment(this.#state, deployment));
  }

  /** The commit of each branch. */
  async branches(project: string): Promise<Readonly<Record<string, string>>> {
    const refs = (await this.#project(project).repository?.refs('refs/heads/')) ?? [];
    return Object.fromEntries(refs.map(({ name, commit }) => [name.slice('refs/heads/'.length), commit]));
  }

  /** Where the bare repository is, for real Git. */
  async repositoryPath(project: string): Promise<string> {
    return (await this.#state.repositoryOf(this.#project(project))).path;
  }

  #project(path: string): Project {
    const project = this.#state.findProject(path);
    if (project === undefined) throw new Error(`there is no project ${path}`);
    return project;
  }

  #merge({ project, iid }: MergeRequestAt): MergeRequest {
    const merge = this.#project(project).mergeRequests.get(iid);
    if (merge === undefined) throw new Error(`there is no merge request ${project}!${iid}`);
    return merge;
  }
}
