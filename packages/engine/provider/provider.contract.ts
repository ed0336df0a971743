import {
  type CommitSha,
  type ComponentName,
  commitSha,
  componentName,
  type ErrorCode,
  environmentId,
  environmentName,
  type Identity,
  isEphError,
  type ObservedComponent,
  type ObservedEnvironment,
  type Part,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeConnect, describeRefusedConnect, type Listening } from './connect.contract.ts';
import { describeExec, describeRefusedExec, type Runs } from './exec.contract.ts';
import type { LogEntry, Provider } from './provider.ts';

export type RequestedBehaviour = 'gets ready' | 'never ready' | 'crashes';

/** What the suite asks of a component; the harness turns it into values that its provider understands. */
export interface ComponentRequest {
  readonly name: ComponentName;
  readonly commit: CommitSha;
  readonly behaviour: RequestedBehaviour;
}

export interface ProviderHarness extends AsyncDisposable {
  /** The provider in use, over infrastructure that was empty at first. */
  provider(): Provider;
  /** The provider is killed and another one takes its place: everything in memory is lost, the infrastructure stays. */
  restart(): Promise<void>;
  /** Values that show the behaviour. A component that starts logs the line `started <commit>`. */
  values(request: ComponentRequest): ResolvedComponent['values'];
  /** Values that the provider refuses, or why there are none. */
  readonly refusedValues: ResolvedComponent['values'] | { readonly none: string };
  /** What parts are run from; nothing is run from an image if absent. */
  readonly image?: string;
  /** Where components that get ready answer HTTP requests; the port of their upstream if absent. */
  readonly port?: number;
  /** Lets time pass until the check holds; fails if it never does. */
  until(check: () => Promise<boolean>): Promise<void>;
}

export interface ProviderSuiteOptions {
  /** With what `exec` is refused here; it works if absent. */
  readonly execRefused?: ErrorCode | undefined;
  /** The same for `connect`. */
  readonly connectRefused?: ErrorCode | undefined;
  /** A new version takes the place of the old one, at the same address: nothing of that has to be retired. */
  readonly updatesInPlace?: true;
  /** Why nothing is measured here. */
  readonly unmeasured?: string;
}

const never = new AbortController().signal;

const shop: Identity = {
  id: environmentId('00000000000000aa'),
  name: environmentName('shop-serene-ocean-4207'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/x' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

const blog: Identity = {
  id: environmentId('00000000000000bb'),
  name: environmentName('blog-silent-river-1173'),
  project: projectId('blog'),
  source: { kind: 'tag', name: 'v1' },
  createdAt: '2026-01-05T10:00:00.000Z',
};

const web = componentName('web');
const api = componentName('api');

/** One behaviour suite for every provider. */
export const describeProvider = (create: () => Promise<ProviderHarness>, options: ProviderSuiteOptions = {}): void => {
  const retiring = options.updatesInPlace !== true;
  const start = async (): Promise<ProviderFixture> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return new ProviderFixture(harness);
  };

  it('holds nothing at first', async () => {
    const { provider } = await start();
    expect(provider.type).toMatch(/^[a-z][a-z0-9-]*$/);
    expect(await provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('makes a component, which becomes current by itself once it is ready', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1, { entry: true, dependsOn: [api] });
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    const environment = await fixture.environment(shop);
    expect(environment).toMatchObject({ identity: shop, complete: true });
    const [component] = environment?.components ?? [];
    expect(component).toMatchObject({ name: web, provider: fixture.provider.name, entry: true, dependsOn: [api], next: null });
    expect(component?.retiring).toBe(false);
    expect(component?.current).toMatchObject({ commit: wanted.commit, health: 'ready', message: '' });
    expect(component?.upstream).toMatch(/^http:/);
  });

  it('lists a component from the moment that ensure returned', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1, { behaviour: 'never ready' });
    await fixture.ensure(shop, wanted);
    const component = await fixture.component(shop, web);
    expect(component).toMatchObject({ current: null, next: { revision: wanted.revision, commit: wanted.commit } });
    expect(component).toMatchObject({ upstream: null, outputs: {} });
    expect(component?.next?.health).not.toBe('ready');
  });

  it('remembers the images of a version and what they were found for', async () => {
    const fixture = await start();
    const reference = `registry.example/acme/api@sha256:${'a'.repeat(64)}`;
    const found = { reference, tag: 'pr-7', commit: fixture.version(web, 1).commit, request: 'r1' };
    const images = { api: found, 'redis:7': { ...found, tag: null, commit: null, fallback: true as const } };
    await fixture.ensure(shop, { ...fixture.version(web, 1), images });
    const versions = async () => {
      const component = await fixture.component(shop, web);
      return (component?.current ?? component?.next)?.images;
    };
    expect(await versions()).toEqual(images);
    await fixture.harness.restart();
    expect(await versions()).toEqual(images);
  });

  it('starts nothing a second time for a revision that is next or current', async () => {
    const fixture = await start();
    const slow = fixture.version(web, 1, { behaviour: 'never ready' });
    await fixture.ensure(shop, slow);
    await fixture.ensure(shop, slow);
    const good = fixture.version(api, 1);
    await fixture.ensure(shop, good);
    await fixture.ensure(shop, good);
    await fixture.untilCurrent(shop, good);
    const before = await fixture.component(shop, api);
    await fixture.ensure(shop, good);
    expect(await fixture.component(shop, api)).toMatchObject({ current: before?.current, next: null, outputs: before?.outputs });
    expect(await fixture.starts(shop, good)).toBe(1);
    expect(await fixture.starts(shop, slow)).toBe(1);
  });

  it('updates: the old version serves until the new one is ready, and goes when the new one is ensured again', async () => {
    const fixture = await start();
    const [old, fresh] = [fixture.version(web, 1), fixture.version(web, 2)];
    await fixture.ensure(shop, old);
    await fixture.untilCurrent(shop, old);
    await fixture.ensure(shop, fresh);
    const during = await fixture.component(shop, web);
    expect([old.revision, fresh.revision]).toContain(during?.current?.revision);
    await fixture.untilCurrent(shop, fresh);
    expect(await fixture.component(shop, web)).toMatchObject({ next: null, retiring });
    await fixture.ensure(shop, fresh);
    expect(await fixture.component(shop, web)).toMatchObject({
      current: { revision: fresh.revision },
      next: null,
      retiring: false,
    });
  });

  it('leaves the old version serving when the new one never gets ready, and says why', async () => {
    const fixture = await start();
    const [old, broken] = [fixture.version(web, 1), fixture.version(web, 2, { behaviour: 'never ready' })];
    await fixture.ensure(shop, old);
    await fixture.untilCurrent(shop, old);
    const before = await fixture.component(shop, web);
    await fixture.ensure(shop, broken);
    await fixture.untilFailing(shop, broken);
    const after = await fixture.component(shop, web);
    expect(after).toMatchObject({ current: before?.current, outputs: before?.outputs, next: { revision: broken.revision } });
    expect(after?.next?.message).not.toBe('');
  });

  it('never hands over to a version that crashes', async () => {
    const fixture = await start();
    const [old, broken] = [fixture.version(web, 1), fixture.version(web, 2, { behaviour: 'crashes' })];
    await fixture.ensure(shop, old);
    await fixture.untilCurrent(shop, old);
    await fixture.ensure(shop, broken);
    await fixture.untilFailing(shop, broken);
    expect(await fixture.component(shop, web)).toMatchObject({ current: { revision: old.revision, health: 'ready' } });
  });

  it('goes back to the current version while another is on its way', async () => {
    const fixture = await start();
    const [old, broken] = [fixture.version(web, 1), fixture.version(web, 2, { behaviour: 'never ready' })];
    await fixture.ensure(shop, old);
    await fixture.untilCurrent(shop, old);
    const before = await fixture.component(shop, web);
    await fixture.ensure(shop, broken);
    await fixture.ensure(shop, old);
    expect(await fixture.component(shop, web)).toMatchObject({ current: before?.current, next: null, retiring: false });
    expect(await fixture.starts(shop, old)).toBe(1);
  });

  it('replaces a version that is still on its way', async () => {
    const fixture = await start();
    const [stuck, fresh] = [fixture.version(web, 1, { behaviour: 'never ready' }), fixture.version(web, 2)];
    await fixture.ensure(shop, stuck);
    await fixture.ensure(shop, fresh);
    await fixture.untilCurrent(shop, fresh);
    await fixture.ensure(shop, fresh);
    expect(await fixture.component(shop, web)).toMatchObject({ next: null, retiring: false });
  });

  it('goes back to a version that was superseded', async () => {
    const fixture = await start();
    const [old, fresh] = [fixture.version(web, 1), fixture.version(web, 2)];
    for (const wanted of [old, fresh, old]) {
      await fixture.ensure(shop, wanted);
      await fixture.untilCurrent(shop, wanted);
    }
    await fixture.ensure(shop, old);
    expect(await fixture.component(shop, web)).toMatchObject({
      current: { revision: old.revision },
      next: null,
      retiring: false,
    });
  });

  it('lists what is in scope', async () => {
    const fixture = await start();
    await fixture.ensure(shop, fixture.version(web, 1));
    await fixture.ensure(blog, fixture.version(web, 1));
    const ids = async (scope: Parameters<Provider['list']>[0]): Promise<string[]> =>
      (await fixture.provider.list(scope, never)).items.map(({ identity }) => identity.id).toSorted();
    expect(await ids({ all: true })).toEqual([shop.id, blog.id]);
    expect(await ids({ project: blog.project })).toEqual([blog.id]);
    expect(await ids({ environment: shop.id })).toEqual([shop.id]);
    expect(await ids({ environment: environmentId('00000000000000cc') })).toEqual([]);
  });

  it('keeps the name that an environment was created with', async () => {
    const fixture = await start();
    await fixture.ensure(shop, fixture.version(web, 1));
    const renamed = { ...shop, name: environmentName('another-name-1'), createdAt: '2027-01-01T00:00:00.000Z' };
    await fixture.ensure(renamed, fixture.version(api, 1));
    expect((await fixture.environment(shop))?.identity).toEqual(shop);
    await fixture.restart();
    expect((await fixture.environment(shop))?.identity).toEqual(shop);
  });

  it('makes several components of one environment at once', async () => {
    const fixture = await start();
    const wanted = ['web', 'api', 'worker', 'db'].map((name) => fixture.version(componentName(name), 1));
    await Promise.all(wanted.map((component) => fixture.ensure(shop, component)));
    for (const component of wanted) await fixture.untilCurrent(shop, component);
    expect((await fixture.environment(shop))?.components).toHaveLength(4);
  });

  it('removes one component and leaves the others', async () => {
    const fixture = await start();
    const [first, second] = [fixture.version(web, 1), fixture.version(api, 1)];
    await fixture.ensure(shop, first);
    await fixture.ensure(shop, second);
    await fixture.untilCurrent(shop, second);
    await fixture.remove(shop, web);
    expect((await fixture.environment(shop))?.components.map(({ name }) => name)).toEqual([api]);
    expect(await fixture.component(shop, api)).toMatchObject({ current: { revision: second.revision, health: 'ready' } });
  });

  it('removes the environment with its last component', async () => {
    const fixture = await start();
    for (const name of [web, api]) await fixture.ensure(shop, fixture.version(name, 1));
    await Promise.all([web, api].map((name) => fixture.remove(shop, name)));
    expect(await fixture.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('succeeds in removing what is not there, again and again', async () => {
    const fixture = await start();
    await fixture.remove(shop, web);
    await fixture.ensure(shop, fixture.version(web, 1));
    await fixture.remove(shop, api);
    expect(await fixture.component(shop, web)).toBeDefined();
    await fixture.remove(shop, web);
    await fixture.remove(shop, web);
    expect(await fixture.environment(shop)).toBeUndefined();
  });

  it('makes again what was removed, under the name it is given then', async () => {
    const fixture = await start();
    await fixture.ensure(shop, fixture.version(web, 1));
    await fixture.remove(shop, web);
    const renamed = { ...shop, name: environmentName('another-name-1') };
    const again = fixture.version(web, 1);
    await fixture.ensure(renamed, again);
    await fixture.untilCurrent(shop, again);
    expect((await fixture.environment(shop))?.identity).toEqual(renamed);
  });

  it('lists the same after it was killed and started again', async () => {
    const fixture = await start();
    const [good, stuck] = [
      fixture.version(web, 1, { entry: true, dependsOn: [api] }),
      fixture.version(api, 1, { behaviour: 'never ready' }),
    ];
    await fixture.ensure(shop, good);
    await fixture.ensure(shop, stuck);
    await fixture.untilCurrent(shop, good);
    const before = await fixture.component(shop, web);
    await fixture.restart();
    expect(await fixture.component(shop, web)).toEqual({
      ...before,
      // Whoever forwards a port itself may take another one.
      upstream: expect.stringMatching(/^http:/),
    });
    expect(await fixture.component(shop, api)).toMatchObject({ current: null, next: { revision: stuck.revision } });
    for (const component of [good, stuck]) await fixture.ensure(shop, component);
    expect(await fixture.starts(shop, good)).toBe(1);
    expect(await fixture.starts(shop, stuck)).toBe(1);
  });

  it('goes on with an update after it was killed and started again', async () => {
    const fixture = await start();
    const [old, fresh] = [fixture.version(web, 1), fixture.version(web, 2)];
    await fixture.ensure(shop, old);
    await fixture.untilCurrent(shop, old);
    await fixture.ensure(shop, fresh);
    await fixture.restart();
    await fixture.untilCurrent(shop, fresh);
    await fixture.restart();
    expect(await fixture.component(shop, web)).toMatchObject({ current: { revision: fresh.revision }, retiring });
    await fixture.ensure(shop, fresh);
    expect(await fixture.component(shop, web)).toMatchObject({ current: { revision: fresh.revision }, retiring: false });
    expect(await fixture.starts(shop, fresh)).toBe(1);
  });

  it('removes what it made before it was killed', async () => {
    const fixture = await start();
    await fixture.ensure(shop, fixture.version(web, 1));
    await fixture.restart();
    await fixture.remove(shop, web);
    await fixture.restart();
    expect(await fixture.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('leaves something that can be completed when it is aborted', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await expect(fixture.provider.ensure(shop, wanted, AbortSignal.abort())).rejects.toThrow('abort');
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    await expect(fixture.provider.remove(shop, web, AbortSignal.abort())).rejects.toThrow('abort');
    await fixture.remove(shop, web);
    expect(await fixture.environment(shop)).toBeUndefined();
  });

  it('brings back a component whose removal was aborted', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    const abort = new AbortController();
    const removal = fixture.provider.remove(shop, web, abort.signal);
    abort.abort();
    await removal.catch(() => 'aborted');
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    expect(await fixture.component(shop, web)).toMatchObject({ current: { health: 'ready' } });
  });

  it('refuses values that it does not understand, and makes nothing of them', async (context) => {
    const fixture = await start();
    const values = fixture.harness.refusedValues;
    if ('none' in values && typeof values.none === 'string') return context.skip(values.none);
    const refused = { ...fixture.version(web, 1), values: values as ResolvedComponent['values'] };
    await expect(fixture.provider.ensure(shop, refused, never)).rejects.toMatchObject({ code: 'component.refused' });
    expect((await fixture.component(shop, web))?.next ?? null).toBeNull();
  });

  it('announces that an environment changed, until the watch is aborted', async () => {
    const fixture = await start();
    const changed = new Set<string>();
    const watching = new AbortController();
    fixture.provider.watch((id) => changed.add(id), watching.signal);
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.harness.until(() => Promise.resolve(changed.has(shop.id)));
    await fixture.untilCurrent(shop, wanted);
    watching.abort();
    changed.clear();
    await fixture.ensure(blog, fixture.version(web, 1));
    expect(changed).toEqual(new Set());
  });

  it('writes down that an environment is held, until it is released', async () => {
    const fixture = await start();
    await fixture.ensure(shop, fixture.version(web, 1));
    expect(await fixture.environment(shop)).toMatchObject({ held: false });
    for (const held of [true, true, false]) {
      await fixture.provider.hold(shop, held, never);
      expect(await fixture.environment(shop)).toMatchObject({ held, identity: shop });
      await fixture.restart();
      expect(await fixture.environment(shop)).toMatchObject({ held, identity: shop });
    }
  });

  it('marks an environment differently while it is held', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    const before = await fixture.environment(shop);
    await fixture.provider.hold(shop, true, never);
    expect((await fixture.environment(shop))?.mark).not.toBe(before?.mark);
  });

  it('has nothing to hold of an environment that it does not know, and forgets the hold with the environment', async () => {
    const fixture = await start();
    await fixture.provider.hold(shop, true, never);
    expect(await fixture.environment(shop)).toBeUndefined();
    await fixture.ensure(shop, fixture.version(web, 1));
    expect(await fixture.environment(shop)).toMatchObject({ held: false });
    await fixture.provider.hold(shop, true, never);
    await fixture.remove(shop, web);
    await fixture.ensure(shop, fixture.version(web, 1));
    expect(await fixture.environment(shop)).toMatchObject({ held: false });
  });

  it('shows what runs for a component to whoever asks', async () => {
    const fixture = await start();
    const [good, broken] = [fixture.version(web, 1), fixture.version(api, 1, { behaviour: 'crashes' })];
    for (const component of [good, broken]) await fixture.ensure(shop, component);
    await fixture.untilCurrent(shop, good);
    expect(await fixture.component(shop, web)).not.toHaveProperty('parts');
    expect(await fixture.parts(shop, web)).toEqual([
      { instance: expect.stringMatching(/./), image: fixture.harness.image ?? null, restarts: 0, message: '' },
    ]);
    await fixture.harness.until(async () => ((await fixture.parts(shop, api))[0]?.restarts ?? 0) > 0);
    await fixture.harness.until(async () => (await fixture.parts(shop, api))[0]?.message !== '');
  });

  it('measures what components use', async (context) => {
    if (options.unmeasured !== undefined) return context.skip(options.unmeasured);
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    const usage = await fixture.provider.usage(shop.id, never);
    expect([...usage.keys()]).toEqual([web]);
    const { cpuSeconds = null, cpuCores = null } = usage.get(web) ?? {};
    expect([cpuSeconds, cpuCores].filter((one) => one !== null && one >= 0)).toHaveLength(1);
    expect(usage.get(web)?.memoryBytes).toBeGreaterThanOrEqual(0);
    expect(await fixture.provider.usage(blog.id, never)).toEqual(new Map());
  });

  it('knows when and by whom a line of the log was written', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    await fixture.harness.until(async () => (await fixture.lines(shop, web, 1))[0]?.at !== null);
    const [entry] = await fixture.lines(shop, web, 1);
    const [part] = await fixture.parts(shop, web);
    expect(entry).toMatchObject({ part: part?.instance, text: `started ${wanted.commit}` });
    const written = Date.parse(entry?.at ?? '');
    expect(await fixture.lines(shop, web, 10, new Date(written))).toEqual([entry]);
    expect(await fixture.lines(shop, web, 10, new Date(written + 5_000))).toEqual([]);
  });

  it('hands out the last lines of the log, and ends when nobody reads any more', async () => {
    const fixture = await start();
    const wanted = fixture.version(web, 1);
    await fixture.ensure(shop, wanted);
    await fixture.untilCurrent(shop, wanted);
    expect(await fixture.lines(shop, web, 1)).toHaveLength(1);
    expect(await fixture.lines(shop, web, 0)).toEqual([]);
    const reading = new AbortController();
    const followed: string[] = [];
    for await (const { text } of fixture.provider.logs(shop.id, web, { tail: 100, follow: true, signal: reading.signal })) {
      followed.push(text);
      reading.abort();
    }
    expect(followed).toEqual([`started ${wanted.commit}`]);
  });

  it('hands out what the run before wrote, without that of the present one, and ends', async () => {
    const fixture = await start();
    const [old, fresh] = [fixture.version(web, 1), fixture.version(web, 2)];
    for (const wanted of [old, fresh]) {
      await fixture.ensure(shop, wanted);
      await fixture.untilCurrent(shop, wanted);
    }
    const options = { tail: 100, follow: true, previous: true, signal: never } as const;
    const entries = await Array.fromAsync(fixture.provider.logs(shop.id, web, options));
    expect(entries.filter(({ text }) => text !== `started ${old.commit}`)).toEqual([]);
  });

  describe('exec', () => {
    const startRunning = async (): Promise<Runs> => {
      const fixture = await start();
      const wanted = fixture.version(web, 1);
      await fixture.ensure(shop, wanted);
      await fixture.untilCurrent(shop, wanted);
      const { provider } = fixture;
      return { provider, environment: shop.id, component: web, remove: () => fixture.remove(shop, web) };
    };
    if (options.execRefused === undefined) describeExec(startRunning);
    else describeRefusedExec(options.execRefused, startRunning);
  });

  describe('connect', () => {
    const startListening = async (): Promise<Listening> => {
      const fixture = await start();
      const wanted = fixture.version(web, 1);
      await fixture.ensure(shop, wanted);
      await fixture.untilCurrent(shop, wanted);
      const { upstream } = (await fixture.component(shop, web)) ?? {};
      const port = fixture.harness.port ?? Number(new URL(upstream ?? '').port || 80);
      const { provider } = fixture;
      return { provider, environment: shop.id, component: web, port, remove: () => fixture.remove(shop, web) };
    };
    if (options.connectRefused === undefined) describeConnect(startListening);
    else describeRefusedConnect(options.connectRefused, startListening);
  });
};

/** The harness, with what the suite reads from the provider. */
class ProviderFixture {
  readonly harness: ProviderHarness;

  constructor(harness: ProviderHarness) {
    this.harness = harness;
  }

  get provider(): Provider {
    return this.harness.provider();
  }

  restart(): Promise<void> {
    return this.harness.restart();
  }

  version(
    name: ComponentName,
    number: number,
    more: Partial<Pick<ResolvedComponent, 'entry' | 'dependsOn'>> & { readonly behaviour?: RequestedBehaviour } = {},
  ): ResolvedComponent {
    const { behaviour = 'gets ready', entry = false, dependsOn = [] } = more;
    const digits = String(number).padStart(40, '0');
    const commit = commitSha(digits);
    const values = this.harness.values({ name, commit, behaviour });
    return {
      name,
      provider: this.provider.name,
      commit,
      artifact: `tree:${commit}`,
      entry,
      dependsOn,
      values,
      revision: revision(digits),
    };
  }

  async environment(identity: Identity): Promise<ObservedEnvironment | undefined> {
    const reading = await this.provider.list({ environment: identity.id }, never);
    expect(reading.faults).toEqual([]);
    return reading.items[0];
  }

  async component(identity: Identity, name: ComponentName): Promise<ObservedComponent | undefined> {
    return (await this.environment(identity))?.components.find((one) => one.name === name);
  }

  untilCurrent(identity: Identity, { name, revision: wanted }: ResolvedComponent): Promise<void> {
    return this.harness.until(async () => {
      const current = (await this.component(identity, name))?.current;
      return current?.revision === wanted && current.health === 'ready';
    });
  }

  untilFailing(identity: Identity, { name, revision: wanted }: ResolvedComponent): Promise<void> {
    return this.harness.until(async () => {
      const next = (await this.component(identity, name))?.next;
      return next?.revision === wanted && next.health === 'failing';
    });
  }

  async parts(identity: Identity, name: ComponentName): Promise<readonly Part[]> {
    const { items } = await this.provider.list({ environment: identity.id, parts: true }, never);
    return items[0]?.components.find((one) => one.name === name)?.parts ?? [];
  }

  async lines(identity: Identity, name: ComponentName, tail: number, since?: Date): Promise<readonly LogEntry[]> {
    const options = { tail, follow: false, signal: never, ...(since && { since }) };
    return Array.fromAsync(this.provider.logs(identity.id, name, options));
  }

  /** How often this version was started, according to the log. */
  async starts(identity: Identity, { name, commit }: ResolvedComponent): Promise<number> {
    await this.harness.until(async () => (await this.lines(identity, name, 1000)).length > 0);
    return (await this.lines(identity, name, 1000)).filter(({ text }) => text === `started ${commit}`).length;
  }

  ensure(identity: Identity, component: ResolvedComponent): Promise<void> {
    return this.#repeat(() => this.provider.ensure(identity, component, never));
  }

  remove(identity: Identity, name: ComponentName): Promise<void> {
    return this.#repeat(() => this.provider.remove(identity, name, never));
  }

  /** A slow removal is begun and then waited for by repeating the call. */
  #repeat(call: () => Promise<void>): Promise<void> {
    return this.harness.until(async () => {
      try {
        await call();
        return true;
      } catch (error) {
        if (isEphError(error) && error.code === 'component.removing') return false;
        throw error;
      }
    });
  }
}
