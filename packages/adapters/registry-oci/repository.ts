import { EphError } from '@eph/contract';
import type { ImageLocation } from '@eph/engine/images/registry';
import type { RegistryAnswer } from './exchange.ts';
import { digestOf, type Manifest, manifestTypes, mediaTypeOf, parseManifest } from './manifest.ts';
import type { Ask } from './registry-client.ts';
import { isDigest, parseRepositoryName } from './repository-name.ts';
import { type PagedRepository, pageLimitBytes } from './tag-list.ts';

const manifestLimitBytes = 4 * 1024 * 1024;
const blobLimitBytes = 4 * 1024 * 1024;

/** What can be read of one repository. Undefined is what the registry says does not exist. */
export interface Repository extends PagedRepository {
  /** The digest that a tag or a digest names. One request, unless the registry says too little in an answer without a body. */
  readDigest(reference: string): Promise<string | undefined>;
  readManifest(digest: string): Promise<Manifest | undefined>;
  readBlob(digest: string): Promise<Buffer | undefined>;
}

/** References are checked by the caller. Throws `registry.refused` for what is no name of a repository. */
export const openRepository = (
  ask: Ask,
  { project, pullSecrets, repository }: Omit<ImageLocation, 'reference'>,
  signal: AbortSignal,
): Repository => {
  const name = parseRepositoryName(repository);
  const { host, shown } = name;
  const accept = manifestTypes.join(', ');
  const of = { name, project, pullSecrets } as const;

  const askManifest = (method: 'GET' | 'HEAD', reference: string): Promise<RegistryAnswer> =>
    ask({ ...of, method, path: `manifests/${reference}`, accept, limitBytes: manifestLimitBytes }, signal);

  /** Throws `registry.refused` if it is not what the digest names. */
  const check = (digest: string, expected: string | undefined): string => {
    if (expected !== undefined && digest !== expected)
      throw new EphError('registry.refused', `${host} sends something else than what has the digest ${expected}.`);
    return digest;
  };

  const readWhole = async (reference: string) => {
    const { status, headers, body } = await askManifest('GET', reference);
    if (status === 404) return undefined;
    const named = isDigest(reference) ? reference : headerDigest(headers);
    const digest = check(digestOf(body), named);
    const manifest = parseManifest(body, mediaTypeOf(headers['content-type']), shownImage(shown, reference));
    return { digest, manifest };
  };

  return {
    shown,
    readDigest: async (reference) => {
      const { status, headers } = await askManifest('HEAD', reference);
      if (status === 404) return undefined;
      const digest = headerDigest(headers);
      if (digest !== undefined && manifestTypes.includes(mediaTypeOf(headers['content-type'])))
        return check(digest, isDigest(reference) ? reference : undefined);
      return (await readWhole(reference))?.digest;
    },
    readManifest: async (digest) => (await readWhole(digest))?.manifest,
    readBlob: async (digest) => {
      const { status, body } = await ask({ ...of, method: 'GET', path: `blobs/${digest}`, limitBytes: blobLimitBytes }, signal);
      if (status === 404) return undefined;
      check(digestOf(body), digest);
      return body;
    },
    readPage: (query) => ask({ ...of, method: 'GET', path: `tags/list?${query}`, limitBytes: pageLimitBytes }, signal),
  };
};

/** As the registry names it, if that is a digest at all. */
const headerDigest = (headers: RegistryAnswer['headers']): string | undefined => {
  const digest = headers['docker-content-digest'];
  return typeof digest === 'string' && isDigest(digest) ? digest : undefined;
};

export const shownImage = (repository: string, reference: string): string =>
  `${repository}${isDigest(reference) ? '@' : ':'}${reference}`;
