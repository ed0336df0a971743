import type { ProjectId, PullSecrets } from '@eph/contract';

/**
 * Container registries, read and never written.
 *
 * Contract
 * - Repositories and tags come from strangers. A registry answers for a project: credentials are used only for projects that the
 *   operator lets use them, and a host that nobody configured must be a public one. Credentials in pull secrets serve only questions
 *   that name these secrets, for one project; where the secrets cannot be read, nobody is asked and that is thrown.
 * - `missing` requires that the registry said so. No answer throws `registry.unreachable`, with the time to wait where the registry
 *   named one. A refusal, an answer that is not an image, a digest that does not match its bytes, a host that must not be asked and
 *   a reference that is neither a tag nor a digest throw `registry.refused`. Nothing is guessed.
 * - Every digest is that of bytes: one that was computed from them, or that the registry named for a tag and computed itself.
 * - What a digest names never changes, so callers may keep it. What a tag names is asked for on every call.
 * - Answers are bounded, in bytes and in time. Effects stop soon after the signal aborts.
 */
export interface Registry {
  /** The digest that a tag or a digest names now; of an index, that of the index. One request. */
  find(image: ImageLocation, signal: AbortSignal): Promise<FindAnswer>;

  /**
   * What an image says of itself. Of an index, the image for the platform; without a platform, its first image. An image that
   * says it is for another platform is missing.
   *
   * @param image by digest
   */
  inspect(image: ImageLocation, platform: string | undefined, signal: AbortSignal): Promise<InspectAnswer>;

  /** The tags of a repository that `matches` accepts, in no order. The others are not kept. */
  tags(repository: Omit<ImageLocation, 'reference'>, matches: (tag: string) => boolean, signal: AbortSignal): Promise<TagsAnswer>;
}

export interface ImageLocation {
  /** On whose behalf. */
  readonly project: ProjectId;
  /** Asked with their credentials, if they have some for the host. */
  readonly pullSecrets?: PullSecrets;
  /** With its host, and nothing left out: `docker.io/library/redis`. */
  readonly repository: string;
  /** A tag, or a digest such as `sha256:…`. */
  readonly reference: string;
}

export interface Missing {
  readonly state: 'missing';
  /** Such as `there is no tag pr-7`; completes a sentence. */
  readonly because: string;
}

export type FindAnswer = { readonly state: 'found'; readonly digest: string } | Missing;

export type InspectAnswer =
  | {
      readonly state: 'found';
      /** As the image says; undefined where it says nothing or no time. */
      readonly created: Date | undefined;
      readonly labels: { readonly [key: string]: string };
    }
  | Missing;

export type TagsAnswer = { readonly state: 'found'; readonly tags: readonly string[] } | Missing;
