import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

export interface LayoutImage {
  /** As it is written into the image, a time or not; left out without it. */
  readonly created?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Such as `linux/arm64/v8`. Default `linux/amd64`. */
  readonly platform?: string | undefined;
  /** An archive of its files. Default: without files. */
  readonly files?: Buffer | undefined;
  /** How it runs, in words of the specification such as `Entrypoint`. */
  readonly execution?: Readonly<Record<string, unknown>> | undefined;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const media = (name: string): string => `application/vnd.oci.image.${name}`;

const withoutFiles = Buffer.alloc(1024);

/** Images on disk as the image specification of OCI describes it; what `skopeo` and others copy from. */
export class OciLayout {
  readonly folder: string;
  readonly #tags = new Map<string, Descriptor>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
    writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  }

  /** Returns the digest of the image. */
  addImage(tag: string, image: LayoutImage): string {
    return this.#tag(tag, this.#writeImage(image));
  }

  /** An index of images for several platforms. Returns the digest of the index. */
  addIndex(tag: string, images: readonly LayoutImage[]): string {
    const mediaType = media('index.v1+json');
    const manifests = images.map((image) => ({ ...this.#writeImage(image), platform: splitPlatform(image) }));
    return this.#tag(tag, this.#write(mediaType, JSON.stringify({ schemaVersion: 2, mediaType, manifests })));
  }

  #writeImage(image: LayoutImage): Descriptor {
    const { created, labels, execution, files: layer = withoutFiles } = image;
    const config = {
      ...(created === undefined ? {} : { created }),
      ...splitPlatform(image),
      config: { ...execution, ...(labels === undefined ? {} : { Labels: labels }) },
      rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
    };
    const mediaType = media('manifest.v1+json');
    const manifest = {
      schemaVersion: 2,
      mediaType,
      config: this.#write(media('config.v1+json'), JSON.stringify(config)),
      layers: [this.#write(media('layer.v1.tar+gzip'), gzipSync(layer))],
    };
    return this.#write(mediaType, JSON.stringify(manifest));
  }

  #write(mediaType: string, content: string | Buffer): Descriptor {
    const bytes = Buffer.from(content);
    const digest = digestOf(bytes);
    writeFileSync(join(this.folder, 'blobs', 'sha256', digest.replace('sha256:', '')), bytes);
    return { mediaType, digest, size: bytes.length };
  }

  #tag(tag: string, descriptor: Descriptor): string {
    this.#tags.set(tag, descriptor);
    const manifests = [...this.#tags].map(([name, one]) => ({
      ...one,
      annotations: { 'org.opencontainers.image.ref.name': name },
    }));
    writeFileSync(join(this.folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests }));
    return descriptor.digest;
  }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const splitPlatform = ({ platform = 'linux/amd64' }: LayoutImage) => {
  const [os = '', architecture = '', variant] = platform.split('/');
  return { os, architecture, ...(variant === undefined ? {} : { variant }) };
};
