import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '@eph/contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { onTestFinished } from 'vitest';
import { type LayoutImage, OciLayout } from '../../../test/parts/oci-layout.ts';
import { makeCertificate } from '../../../test/parts/openssl.ts';
import { type RunningRegistry, registry, registryUser } from '../../../test/parts/registry.ts';
import { copyToRegistry, deleteFromRegistry } from '../../../test/parts/skopeo.ts';
import { startTokenServer, type TokenServer } from '../../../test/parts/token-server.ts';
import type { RegistryHarness } from '../../engine/images/registry.contract.ts';
import { createOciRegistry, type OciRegistryOptions } from './oci-registry.ts';
import type { RegistrySettings } from './registry-hosts.ts';
import { ScriptedRegistry } from './scripted-registry.fake.ts';

export type RegistryMode = 'open' | 'password' | 'token' | 'TLS';

export const plain: RegistrySettings = {
  username: undefined,
  password: undefined,
  plainHttp: true,
  ca: undefined,
  isFor: () => true,
};

const login = { username: registryUser.name, password: { value: registryUser.password } };

/** A registry as ephd makes it, for what a test does not concern. */
export const createTestRegistry = (options: Partial<OciRegistryOptions> = {}) =>
  createOciRegistry({
    registries: new Map(),
    credentialsFile: undefined,
    readPullSecrets: () => Promise.resolve([]),
    environment: {},
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    ...options,
  });

/** A scripted registry, and the adapter configured for it, until the test ends. */
export const startScripted = async ({
  settings,
  ...options
}: Partial<OciRegistryOptions> & { settings?: Partial<RegistrySettings> } = {}) => {
  const server = await ScriptedRegistry.start();
  const registry = createTestRegistry({ registries: new Map([[server.host, { ...plain, ...settings }]]), ...options });
  onTestFinished(async () => {
    await registry[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { server, registry, repository: `${server.host}/acme/shop` };
};

/** A real registry, and the adapter configured for it. */
export class RealRegistry implements AsyncDisposable {
  readonly server: RunningRegistry;
  readonly settings: RegistrySettings;
  /** Where tokens are asked for. */
  readonly tokens: TokenServer | undefined;
  readonly #layout: OciLayout;
  readonly #login: typeof registryUser | undefined;
  #repositories = 0;

  private constructor(server: RunningRegistry, settings: RegistrySettings, tokens: TokenServer | undefined, layout: OciLayout) {
    this.server = server;
    this.settings = settings;
    this.tokens = tokens;
    this.#layout = layout;
    this.#login = settings.username === undefined ? undefined : registryUser;
  }

  static async start(mode: RegistryMode): Promise<RealRegistry> {
    const folder = mkdtempSync(join(tmpdir(), 'eph-registry-oci-'));
    const [certificate, key] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
    if (mode === 'TLS') makeCertificate(folder, 'tls');
    const tokens = mode === 'token' ? await startTokenServer(folder) : undefined;
    const server = await registry.start({
      ...(mode === 'TLS' && { tls: { certificate, key } }),
      ...(mode === 'password' && { login: { type: 'password' } }),
      ...(tokens && { login: tokens.login }),
    });
    const settings = {
      ...plain,
      ...(mode === 'TLS' && { plainHttp: false, ca: readFileSync(certificate, 'utf8') }),
      ...((mode === 'password' || mode === 'token') && login),
    };
    return new RealRegistry(server, settings, tokens, new OciLayout(join(folder, 'layout')));
  }

  /** With a repository of its own. */
  connect(options: Partial<OciRegistryOptions> = {}): RegistryHarness {
    this.#repositories += 1;
    const repository = `${this.server.host}/acme/shop-${this.#repositories}`;
    const adapter = createTestRegistry({ registries: new Map([[this.server.host, this.settings]]), ...options });
    return {
      registry: adapter,
      repository,
      publish: async (tag, { created, labels, platforms = ['linux/amd64'], index = platforms.length > 1 }) => {
        const images = platforms.map((platform) => ({ created: created?.toISOString(), labels, platform }));
        const [first = {}] = images;
        const digest = index ? this.#layout.addIndex('next', images) : this.#layout.addImage('next', first);
        await copyToRegistry({ folder: this.#layout.folder, tag: 'next' }, `${repository}:${tag}`, { login: this.#login });
        return digest;
      },
      delete: (digest) => deleteFromRegistry(`${repository}@${digest}`, this.#login),
      disconnect: () => this.server.halt(),
      reconnect: () => this.server.resume(),
      [Symbol.asyncDispose]: async () => {
        await adapter[Symbol.asyncDispose]();
        await this.server.resume();
      },
    };
  }

  /** As `docker push` does. Returns the digest that the registry computed. */
  async publishForDocker(repository: string, tag: string, image: LayoutImage): Promise<string> {
    this.#layout.addImage('docker', image);
    await copyToRegistry({ folder: this.#layout.folder, tag: 'docker' }, `${repository}:${tag}`, { format: 'v2s2' });
    const accept = 'application/vnd.docker.distribution.manifest.v2+json';
    const path = repository.slice(this.server.host.length);
    const { headers } = await fetch(`${this.server.url}/v2${path}/manifests/${tag}`, { headers: { accept } });
    return headers.get('docker-content-digest') ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.tokens?.[Symbol.dispose]();
    await this.server.stop();
    rmSync(join(this.#layout.folder, '..'), { recursive: true, force: true });
  }
}
