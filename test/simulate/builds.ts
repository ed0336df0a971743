import type { CommitSha, ProjectId, Source, SourceRef } from '@eph/contract';
import { FakeRegistry } from '@eph/engine/images/registry.fake';

/** How a file says that an image is found: by its tag, by a scan, by its tag with a fall-back, or always the same tag. */
export type ImageKind = 'tagged' | 'scanned' | 'replaced' | 'fixed';

export const imageKinds: readonly [ImageKind, ...ImageKind[]] = ['tagged', 'tagged', 'scanned', 'replaced', 'replaced', 'fixed'];

export const appRepository = (project: ProjectId): string => `registry.test/${project}/app`;

const baseRepository = (project: ProjectId): string => `registry.test/${project}/base`;

export const tagOfFixed = (project: ProjectId): string => `${baseRepository(project)}:1`;

/** What a file calls an image: the entry of `environment.images`, or the image itself. */
export const nameOf = (project: ProjectId, kind: ImageKind): string => (kind === 'fixed' ? tagOfFixed(project) : kind);

/** What an image may be run for: a commit, or as the fall-back or the fixed tag of any. */
type Purpose = CommitSha | 'latest' | 'fixed';

/** What CI has pushed to the registries, and for what. */
export class Builds {
  readonly registry = new FakeRegistry();
  /** The digests of all tags, by `repository:tag`. */
  readonly #tags = new Map<string, string>();
  /** By `repository@digest`, whether it still exists or not. */
  readonly #purposes = new Map<string, Set<Purpose>>();
  #built = 0;

  constructor(projects: readonly ProjectId[]) {
    for (const project of projects) {
      this.#publish(appRepository(project), 'latest', { content: 'latest' }, 'latest');
      this.moveFixed(project);
    }
  }

  /**
   * CI pushes the image of a commit, perhaps once more. The tag moves if the content is another one, and images of two commits with
   * equal content are one.
   */
  build({ project, ref, commit }: Source, kind: ImageKind, content: string): void {
    this.#built += 1;
    const repository = appRepository(project);
    // For a tag that does not name its commit, a label has to do that.
    if (kind === 'scanned')
      return this.#publish(repository, `${branchName(ref)}-${this.#built}`, { content, 'eph.io/commit': commit }, commit);
    this.#publish(repository, tagOf(commit), { content }, commit);
    this.#publish(repository, 'latest', { content }, 'latest');
  }

  /** Who made the base image makes another one. */
  moveFixed(project: ProjectId): void {
    this.#built += 1;
    this.#publish(baseRepository(project), '1', { content: String(this.#built) }, 'fixed');
  }

  /** The registry is tidied up. */
  delete({ project, ref, commit }: Source): void {
    const repository = appRepository(project);
    for (const tag of [tagOf(commit), ...this.#scanned(project, ref, commit)]) {
      this.registry.delete(repository, tag);
      this.#tags.delete(`${repository}:${tag}`);
    }
  }

  /** Whether a registry that answers and does not lie shows the right image. */
  has({ project, ref, commit }: Source, kind: ImageKind): boolean {
    if (kind === 'scanned') return this.#scanned(project, ref, commit).length > 0;
    return kind === 'fixed' || this.#tags.has(`${appRepository(project)}:${tagOf(commit)}`);
  }

  /** Whether an image was ever pushed for this. */
  isFor(reference: string, purpose: Purpose): boolean {
    return this.#purposes.get(reference)?.has(purpose) === true;
  }

  #scanned(project: ProjectId, ref: SourceRef, commit: CommitSha): readonly string[] {
    const repository = appRepository(project);
    const start = `${repository}:${branchName(ref)}-`;
    return [...this.#tags].flatMap(([tag, digest]) =>
      tag.startsWith(start) && this.isFor(`${repository}@${digest}`, commit) ? [tag.slice(repository.length + 1)] : [],
    );
  }

  #publish(repository: string, tag: string, labels: { readonly [key: string]: string }, purpose: Purpose): void {
    const digest = this.registry.publish(repository, tag, { labels });
    this.#tags.set(`${repository}:${tag}`, digest);
    const reference = `${repository}@${digest}`;
    this.#purposes.set(reference, (this.#purposes.get(reference) ?? new Set()).add(purpose));
  }
}

/** What must be asked before an image of this kind can be known, as a registry is asked. */
export const questionOf = (project: ProjectId, commit: CommitSha, kind: ImageKind): string => {
  if (kind === 'scanned') return `tags ${appRepository(project)}`;
  return `find ${kind === 'fixed' ? tagOfFixed(project) : `${appRepository(project)}:${tagOf(commit)}`}`;
};

const tagOf = (commit: CommitSha): string => `build-${commit.slice(0, 7)}`;

const branchName = ({ name }: SourceRef): string => name.replaceAll('/', '-');
