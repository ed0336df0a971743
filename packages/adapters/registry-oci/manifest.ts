import { createHash } from 'node:crypto';
import { EphError, parseJson } from '@eph/contract';
import { z } from 'zod';
import { isDigest } from './repository-name.ts';

const imageTypes = ['application/vnd.oci.image.manifest.v1+json', 'application/vnd.docker.distribution.manifest.v2+json'];
const indexTypes = ['application/vnd.oci.image.index.v1+json', 'application/vnd.docker.distribution.manifest.list.v2+json'];
const configTypes = ['application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json'];

export const manifestTypes: readonly string[] = [...imageTypes, ...indexTypes];

const descriptor = z.object({ mediaType: z.string(), digest: z.string().refine(isDigest) });

const platformShape = z.object({ os: z.string(), architecture: z.string(), variant: z.string().optional() });
export type Platform = z.output<typeof platformShape>;

/** A document that is both could be read in two ways. */
const image = z.object({ mediaType: z.string().optional(), config: descriptor, manifests: z.undefined().optional() });
const index = z.object({
  mediaType: z.string().optional(),
  manifests: z.array(descriptor.extend({ platform: platformShape.optional() })),
  config: z.undefined().optional(),
  layers: z.undefined().optional(),
});

export type Manifest =
  /** `config` is the digest of its configuration. */
  { readonly type: 'image'; readonly config: string } | { readonly type: 'index'; readonly images: readonly IndexedImage[] };

export interface IndexedImage {
  readonly mediaType: string;
  readonly digest: string;
  readonly platform: Platform | undefined;
}

export const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** The media type without parameters. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/**
 * Throws `registry.refused` for what is not an image.
 *
 * @param mediaType what the registry says it is
 * @param shown the image, for messages
 */
export const parseManifest = (bytes: Buffer, mediaType: string, shown: string): Manifest => {
  const isImage = imageTypes.includes(mediaType);
  if (!isImage && !indexTypes.includes(mediaType))
    throw new EphError('registry.refused', `${shown} is not an image: its type is ${JSON.stringify(mediaType.slice(0, 100))}.`);
  const { data } = (isImage ? image : index).safeParse(parseJson(bytes.toString()));
  if (data === undefined || (data.mediaType !== undefined && data.mediaType !== mediaType))
    throw new EphError('registry.refused', `${shown} is not an image: its manifest is not valid.`);
  if (data.manifests !== undefined)
    return { type: 'index', images: data.manifests.map(({ platform, ...one }) => ({ ...one, platform })) };
  if (!configTypes.includes(data.config.mediaType))
    throw new EphError('registry.refused', `${shown} is not an image, but something else that registries store.`);
  return { type: 'image', config: data.config.digest };
};

/** Attestations are in an index too, for a platform that does not exist. */
const isRunnable = ({ platform }: IndexedImage): boolean => platform?.os !== 'unknown';

/**
 * The image for a platform; without one, the first. Undefined if there is none.
 *
 * @param platform such as `linux/arm64`
 */
export const chooseImage = (images: readonly IndexedImage[], platform: string | undefined): IndexedImage | undefined =>
  images
    .filter(isRunnable)
    .find((one) => platform === undefined || (one.platform !== undefined && isFor(one.platform, platform)));

export const isFor = (platform: Platform, wanted: string): boolean => normalise(platform) === normalise(splitPlatform(wanted));

const splitPlatform = (text: string): Platform => {
  const [os = '', architecture = '', variant] = text.split('/');
  return { os, architecture, variant };
};

/** Variants that are the default of their architecture, which some images name and others do not. */
const defaultVariants: ReadonlyMap<string, string> = new Map([
  ['arm64', 'v8'],
  ['arm', 'v7'],
  ['amd64', 'v1'],
]);

const normalise = ({ os, architecture, variant }: Platform): string =>
  `${os}/${architecture}/${variant || (defaultVariants.get(architecture) ?? '')}`;

export const isIndexType = (mediaType: string): boolean => indexTypes.includes(mediaType);
