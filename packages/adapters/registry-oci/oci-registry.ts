import { EphError, type Log } from '@eph/contract';
import type { InspectAnswer, Missing, Registry } from '@eph/engine/images/registry';
import type { Clock } from '@eph/engine/time/clock';
import { createAuthorizer } from './authorization.ts';
import { createConnections } from './connections.ts';
import { createCredentials } from './credentials.ts';
import { openDockerConfig } from './docker-config.ts';
import type { Environment } from './docker-credential.ts';
import { createExchange } from './exchange.ts';
import { parseImageConfig } from './image-config.ts';
import { chooseImage, isFor, isIndexType, type Manifest } from './manifest.ts';
import { createPullCredentials, type ReadPullSecrets } from './pull-secrets.ts';
import { createRegistryClient } from './registry-client.ts';
import { createRegistryHosts, type RegistrySettings } from './registry-hosts.ts';
import { openRepository, type Repository, shownImage } from './repository.ts';
import { checkDigest, checkReference, isDigest } from './repository-name.ts';
import { readTags } from './tag-list.ts';

export interface OciRegistryOptions {
  /** By host, as in the names of images. */
  readonly registries: ReadonlyMap<string, RegistrySettings>;
  /** A configuration file of Docker, for credentials that `registries` does not have. */
  readonly credentialsFile: string | undefined;
  readonly readPullSecrets: ReadPullSecrets;
  /** Of the programs that the file names. */
  readonly environment: Environment;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** All registries that speak the API of OCI distribution. Throws `config.invalid` if the file with credentials cannot be used. */
export const createOciRegistry = (options: OciRegistryOptions): Registry & AsyncDisposable => {
  const { registries, credentialsFile, readPullSecrets, environment, clock, random, log } = options;
  const now = () => clock.now();
  const dockerConfig = credentialsFile === undefined ? undefined : openDockerConfig(credentialsFile, log);
  const connections = createConnections();
  const exchange = createExchange(clock);
  const credentials = createCredentials({ dockerConfig, environment, clock });
  const ask = createRegistryClient({
    exchange,
    authorizer: createAuthorizer({ exchange, credentials, now }),
    pullCredentials: createPullCredentials(readPullSecrets, clock),
    hostOf: createRegistryHosts({ registries, connections, now, random, log }),
  });
  return {
    find: async (image, signal) => {
      const { reference } = image;
      const repository = openRepository(ask, image, signal);
      checkReference(reference);
      const digest = await repository.readDigest(reference);
      if (digest !== undefined) return { state: 'found', digest };
      return missing(`there is no ${isDigest(reference) ? 'image' : 'tag'} ${reference} in ${repository.shown}`);
    },
    inspect: async (image, platform, signal) => {
      const repository = openRepository(ask, image, signal);
      checkDigest(image.reference);
      return await inspect(repository, image.reference, platform);
    },
    tags: async (location, matches, signal) => {
      const repository = openRepository(ask, location, signal);
      const tags = await readTags(repository, matches);
      return tags === undefined ? missing(`there is no repository ${repository.shown}`) : { state: 'found', tags };
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
};

const missing = (because: string): Missing => ({ state: 'missing', because });

const inspect = async (repository: Repository, digest: string, platform: string | undefined): Promise<InspectAnswer> => {
  const shown = shownImage(repository.shown, digest);
  const image = await readImage(repository, digest, platform, shown);
  if (image.state === 'missing') return image;
  const bytes = await repository.readBlob(image.config);
  if (bytes === undefined) return missing(`the configuration of ${shown} is missing`);
  const { created, labels, platform: own } = parseImageConfig(bytes, shown);
  if (platform !== undefined && !isFor(own, platform)) return missing(`${shown} has no image for ${platform}`);
  return { state: 'found', created, labels };
};

type ImageAnswer = ({ readonly state: 'found' } & Extract<Manifest, { readonly type: 'image' }>) | Missing;

/** The image itself; of an index, that for the platform. */
const readImage = async (
  repository: Repository,
  digest: string,
  platform: string | undefined,
  shown: string,
): Promise<ImageAnswer> => {
  const manifest = await repository.readManifest(digest);
  if (manifest === undefined) return missing(`there is no image ${digest} in ${repository.shown}`);
  if (manifest.type === 'image') return { state: 'found', ...manifest };
  const chosen = chooseImage(manifest.images, platform);
  if (chosen === undefined) return missing(`${shown} has no image${platform === undefined ? '' : ` for ${platform}`}`);
  const inner = isIndexType(chosen.mediaType) ? manifest : await repository.readManifest(chosen.digest);
  if (inner === undefined) return missing(`${shown} names an image that is missing`);
  // Nothing makes such indexes, and every level would cost a request.
  if (inner.type === 'index') throw new EphError('registry.refused', `${shown} is not an image: it is an index of indexes.`);
  return { state: 'found', ...inner };
};
