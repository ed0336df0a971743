import type { CommitSha, ProviderName } from './ids.ts';

/** An image that a component asks for: an entry of `environment.images`, or a reference such as `redis:7`. All templates are rendered. */
export interface WantedImage {
  /** As the component names it. */
  readonly name: string;
  /** With its host, and nothing left out: `docker.io/library/redis`. */
  readonly repository: string;
  /** The file has no other entry: what names no image by name means this one. */
  readonly isOnly: boolean;
  /** A fixed tag or digest, which excludes every way of looking for one. */
  readonly fixed?: string;
  /** The notes to read, such as `eph-images`. */
  readonly notes?: string;
  readonly tag?: RenderedTag;
  /** `*` and `?` stand for anything. */
  readonly pattern?: RenderedTag;
  readonly fallbackTag?: string;
  readonly whenMissing: 'fail' | 'use-fallback' | 'wait';
  readonly maxAgeSeconds?: number;
  readonly requiredLabels: { readonly [key: string]: string };
  /** Such as `linux/arm64`. */
  readonly platform?: string;
  /** A tag that is moved to another image is a new version. */
  readonly followsTag: boolean;
}

/** What a template makes for one source, or why it makes nothing. */
export type RenderedTag = { readonly text: string } | { readonly fault: string };

/** Secrets that an environment fetches its images with, kept where it runs. Which of them a project may use, the operator says. */
export interface PullSecrets {
  readonly provider: ProviderName;
  readonly names: readonly string[];
}

/** An image that was found: the same bytes for ever. Providers write it down with the version that runs it. */
export interface PinnedImage {
  /** With its digest: `ghcr.io/acme/api@sha256:…`. Of an index, that of the index. */
  readonly reference: string;
  /** The tag that named it; null where its digest was named. */
  readonly tag: string | null;
  /** The commit that it was found for; null where it is the same for every commit. */
  readonly commit: CommitSha | null;
  /** Digest of what was asked for: who asks the same again is given this image. */
  readonly request: string;
  /** It is used until the right one is there. */
  readonly fallback?: true;
}

/** Images by the names that a component has for them. */
export type PinnedImages = { readonly [name: string]: PinnedImage };

export interface ImageReference {
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/**
 * `redis:7` is `docker.io/library/redis` with the tag `7`: what Docker leaves out is put in. Undefined for what is no image. Of the
 * digests that OCI knows, registries have SHA-256 alone.
 */
export const parseImageReference = (image: string): ImageReference | undefined => {
  const [named = '', digest, ...more] = image.split('@');
  if (more.length > 0 || (digest !== undefined && !/^sha256:[0-9a-f]{64}$/.test(digest))) return undefined;
  const [, untagged, tag] = /^(.*?)(?::(\w[\w.-]{0,127}))?$/.exec(tailAfterSlash(named)) ?? [];
  if (untagged === undefined) return undefined;
  const segments = (headToSlash(named) + untagged).split('/');
  const [first = '', ...rest] = segments;
  const hasRegistry = rest.length > 0 && /^localhost$|[.:]/.test(first);
  const path = hasRegistry ? rest : segments;
  if (!path.every((segment) => imageSegment.test(segment)) || (hasRegistry && !registryHost.test(first))) return undefined;
  const host = hasRegistry && first !== 'index.docker.io' ? first : 'docker.io';
  const isOfficial = host === 'docker.io' && path.length === 1;
  return { repository: [host, ...(isOfficial ? ['library'] : []), ...path].join('/').toLowerCase(), tag, digest };
};

const imageSegment = /^[a-z0-9]+(?:(?:[.]|__?|-+)[a-z0-9]+)*$/;
const registryHost = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i;

const headToSlash = (text: string): string => text.slice(0, text.lastIndexOf('/') + 1);
const tailAfterSlash = (text: string): string => text.slice(text.lastIndexOf('/') + 1);
