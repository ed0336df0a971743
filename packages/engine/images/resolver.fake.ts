import { type CommitSha, failure, type Source } from '@eph/contract';
import type { ArtifactAnswer, Resolver } from './resolver.ts';

export interface FakeResolverOptions {
  /** Awaited before every answer; may delay it or throw. */
  readonly disturb?: (source: Source) => Promise<void>;
}

/** A resolver in memory: an artifact exists once it was published. */
export class FakeResolver implements Resolver {
  readonly #published = new Set<CommitSha>();
  readonly #options: FakeResolverOptions;

  constructor(options: FakeResolverOptions = {}) {
    this.#options = options;
  }

  publish(commit: CommitSha): void {
    this.#published.add(commit);
  }

  async resolve(source: Source): Promise<ArtifactAnswer> {
    await this.#options.disturb?.(source);
    if (this.#published.has(source.commit)) return { state: 'found', artifact: `fake@sha256:${source.commit}` };
    return {
      state: 'missing',
      fault: failure('artifact.missing', `there is no artifact for commit ${source.commit.slice(0, 12)} yet`),
    };
  }
}
