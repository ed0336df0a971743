import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LayoutImage, OciLayout } from '../parts/oci-layout.ts';
import { type RegistryOptions, type RunningRegistry, registry, registryUser } from '../parts/registry.ts';
import { copyToRegistry, deleteFromRegistry } from '../parts/skopeo.ts';
import type { EphdHarness, StartOptions } from './ephd-harness.ts';
import type { RunningEphd } from './running-ephd.ts';

export interface PublishedImage extends LayoutImage {
  /** Two images with other contents have other digests. */
  readonly content?: string;
}

/** A real registry, to which a test pushes as a build would. */
export class ImageRegistry implements AsyncDisposable {
  readonly #server: RunningRegistry;
  readonly #folder: string;
  readonly #hasLogin: boolean;
  #published = 0;

  private constructor(server: RunningRegistry, folder: string, hasLogin: boolean) {
    this.#server = server;
    this.#folder = folder;
    this.#hasLogin = hasLogin;
  }

  static async start(options: RegistryOptions = {}): Promise<ImageRegistry> {
    const folder = await mkdtemp(join(tmpdir(), 'eph-images-'));
    return new ImageRegistry(await registry.start(options), folder, options.login !== undefined);
  }

  get host(): string {
    return this.#server.host;
  }

  /** The name of a repository in it. */
  repository(name: string): string {
    return `${this.host}/${name}`;
  }

  /** Pushes an image that was made now. Returns the reference with its digest. */
  async publish(name: string, tag: string, { content = tag, labels = {}, ...image }: PublishedImage = {}): Promise<string> {
    this.#published += 1;
    const layout = new OciLayout(join(this.#folder, String(this.#published)));
    const created = 'created' in image ? image.created : new Date().toISOString();
    const digest = layout.addImage('image', { ...image, created, labels: { content, ...labels } });
    await this.#copy(layout, `${this.repository(name)}:${tag}`);
    return `${this.repository(name)}@${digest}`;
  }

  /** Pushes one image for each platform under one tag. */
  async publishIndex(name: string, tag: string, platforms: readonly string[]): Promise<string> {
    this.#published += 1;
    const layout = new OciLayout(join(this.#folder, String(this.#published)));
    const digest = layout.addIndex(
      'image',
      platforms.map((platform) => ({ platform, created: new Date().toISOString() })),
    );
    await this.#copy(layout, `${this.repository(name)}:${tag}`);
    return `${this.repository(name)}@${digest}`;
  }

  /**
   * Gives tags to the image that was published as `acme/all:first`, by writing them where the registry stores them: pushing so many
   * takes minutes.
   */
  tag(name: string, tags: readonly string[]): void {
    const repositories = join(this.#server.storage, 'docker', 'registry', 'v2', 'repositories');
    const from = join(repositories, 'acme', 'all');
    const link = readFileSync(join(from, '_manifests', 'tags', 'first', 'current', 'link'), 'utf8');
    for (const part of ['_layers', join('_manifests', 'revisions')])
      cpSync(join(from, part), join(repositories, name, part), { recursive: true });
    for (const tag of tags) {
      const folder = join(repositories, name, '_manifests', 'tags', tag, 'current');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'link'), link);
    }
  }

  delete(name: string, tag: string): Promise<void> {
    return deleteFromRegistry(`${this.repository(name)}:${tag}`, this.#login);
  }

  halt(): Promise<void> {
    return this.#server.halt();
  }

  resume(): Promise<void> {
    return this.#server.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #login() {
    return this.#hasLogin ? registryUser : undefined;
  }

  #copy({ folder }: OciLayout, target: string): Promise<void> {
    return copyToRegistry({ folder, tag: 'image' }, target, { login: this.#login });
  }
}

/** Starts ephd with a file that names the registry. */
export const startWithRegistry = async (
  harness: EphdHarness,
  images: ImageRegistry,
  {
    settings = {},
    registrySettings = {},
    ...options
  }: StartOptions & {
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly registrySettings?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<RunningEphd> => {
  const config = join(harness.folder, 'ephd.yaml');
  await writeFile(
    config,
    JSON.stringify({
      registries: { [images.host]: { plain_http: true, ...registrySettings } },
      images: { fresh_for: '1s' },
      projects: [{ name: 'shop', trusted: true, location: harness.repository.path }],
      ...settings,
    }),
  );
  return await harness.start({ projects: [], args: ['--config', config], ...options });
};
