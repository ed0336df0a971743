import { createHash } from 'node:crypto';
import { EphError, type ProjectId } from '@eph/contract';
import type { FindAnswer, ImageLocation, InspectAnswer, Missing, Registry, TagsAnswer } from './registry.ts';

export interface FakeImage {
  readonly created?: Date | undefined;
  readonly labels?: { readonly [key: string]: string };
  /** Default `linux/amd64`. */
  readonly platforms?: readonly string[];
  /** Whether the digest is that of an index. Default: with several platforms. */
  readonly index?: boolean;
}

export interface RegistryRequest {
  readonly asks: 'find' | 'inspect' | 'tags';
  readonly project: ProjectId;
  readonly repository: string;
  /** Undefined for `tags`. */
  readonly reference: string | undefined;
}

export interface FakeRegistryOptions {
  /** Awaited before every answer; may delay it or throw. */
  readonly disturb?: (request: RegistryRequest) => Promise<void>;
}

interface FakeRepository {
  readonly tags: Map<string, string>;
  readonly images: Map<string, FakeImage>;
}

const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^sha256:[0-9a-f]{64}$/;

/** Registries in memory. The host is a part of the name of a repository. */
export class FakeRegistry implements Registry {
  readonly #repositories = new Map<string, FakeRepository>();
  readonly #options: FakeRegistryOptions;

  constructor(options: FakeRegistryOptions = {}) {
    this.#options = options;
  }

  /** Returns the digest. Equal images have equal digests. */
  publish(repository: string, tag: string, image: FakeImage = {}): string {
    const { tags, images } = this.#repositories.get(repository) ?? this.#create(repository);
    const digest = `sha256:${createHash('sha256').update(JSON.stringify(image)).digest('hex')}`;
    images.set(digest, image);
    tags.set(tag, digest);
    return digest;
  }

  /** Lets a tag name another image of the repository. */
  move(repository: string, tag: string, digest: string): void {
    this.#repositories.get(repository)?.tags.set(tag, digest);
  }

  /** Deletes a tag, or an image with all of its tags. */
  delete(repository: string, reference: string): void {
    const { tags, images } = this.#repositories.get(repository) ?? noImages;
    if (!images.delete(reference)) tags.delete(reference);
    for (const [tag, digest] of tags) if (digest === reference) tags.delete(tag);
  }

  async find(image: ImageLocation, signal: AbortSignal): Promise<FindAnswer> {
    const digest = await this.#digestOf('find', image, signal);
    return typeof digest === 'string' ? { state: 'found', digest } : digest;
  }

  async inspect(image: ImageLocation, platform: string | undefined, signal: AbortSignal): Promise<InspectAnswer> {
    const digest = await this.#digestOf('inspect', image, signal);
    if (typeof digest !== 'string') return digest;
    const {
      created,
      labels = {},
      platforms = ['linux/amd64'],
    } = this.#repositories.get(image.repository)?.images.get(digest) ?? {};
    if (platform !== undefined && !platforms.includes(platform)) return missing(`it has no image for ${platform}`);
    return { state: 'found', created, labels };
  }

  async tags(
    repository: Omit<ImageLocation, 'reference'>,
    matches: (tag: string) => boolean,
    signal: AbortSignal,
  ): Promise<TagsAnswer> {
    const found = await this.#ask({ asks: 'tags', ...repository, reference: undefined }, signal);
    if (found === undefined) return missing(`there is no repository ${repository.repository}`);
    return { state: 'found', tags: [...found.tags.keys()].filter(matches) };
  }

  async #digestOf(asks: 'find' | 'inspect', image: ImageLocation, signal: AbortSignal): Promise<string | Missing> {
    const { project, repository, reference } = image;
    const isDigest = digestForm.test(reference);
    if (!isDigest && (asks === 'inspect' || !tagForm.test(reference)))
      throw new EphError(
        'registry.refused',
        `${JSON.stringify(reference)} is not the ${asks === 'find' ? 'tag' : 'digest'} of an image.`,
      );
    const found = await this.#ask({ asks, project, repository, reference }, signal);
    const digest = isDigest ? reference : found?.tags.get(reference);
    if (digest === undefined || found?.images.has(digest) !== true)
      return missing(`there is no ${isDigest ? 'image' : 'tag'} ${reference} in ${repository}`);
    return digest;
  }

  async #ask(request: RegistryRequest, signal: AbortSignal): Promise<FakeRepository | undefined> {
    signal.throwIfAborted();
    await this.#options.disturb?.(request);
    signal.throwIfAborted();
    return this.#repositories.get(request.repository);
  }

  #create(repository: string): FakeRepository {
    const created = { tags: new Map<string, string>(), images: new Map<string, FakeImage>() };
    this.#repositories.set(repository, created);
    return created;
  }
}

const noImages: FakeRepository = { tags: new Map(), images: new Map() };

const missing = (because: string): Missing => ({ state: 'missing', because });
