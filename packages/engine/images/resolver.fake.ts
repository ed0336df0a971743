import { type CommitSha, type Failure, failure } from '@eph/contract';
import type { ImageAnswer, ImageRequest, Resolver } from './resolver.ts';

export interface FakeResolverOptions {
  /** Awaited before every answer; may delay it or throw. */
  readonly disturb?: (request: ImageRequest) => Promise<void>;
}

/** A resolver in memory: the image of a commit exists once it was published. */
export class FakeResolver implements Resolver {
  readonly #published = new Map<CommitSha, string>();
  readonly #options: FakeResolverOptions;
  /** Why nobody answers. */
  away: Failure | undefined;

  constructor(options: FakeResolverOptions = {}) {
    this.#options = options;
  }

  /** @param content equal contents are one image */
  publish(commit: CommitSha, content: string = commit): void {
    this.#published.set(commit, content);
  }

  async resolve(request: ImageRequest): Promise<ImageAnswer> {
    const { source, image, component, running } = request;
    const { commit } = source;
    const known = running.find((one) => one.request === commit);
    if (known !== undefined) return { state: 'found', image: known, findings: [] };
    await this.#options.disturb?.(request);
    if (this.away !== undefined) return { state: 'unknown', fault: this.away, findings: [] };
    const content = this.#published.get(commit);
    if (content === undefined) {
      const fault = failure(
        'artifact.missing',
        `${component} waits for image ${image.name}: there is none of ${commit.slice(0, 7)}`,
      );
      return { state: 'missing', fault, findings: [] };
    }
    const reference = `${image.repository}@sha256:${content.padEnd(64, '0')}`;
    return { state: 'found', image: { reference, tag: null, commit, request: commit }, findings: [] };
  }
}
