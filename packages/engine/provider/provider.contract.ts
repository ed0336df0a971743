import {
  type CommitSha,
  type ComponentName,
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  type ObservedComponent,
  type ObservedEnvironment,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { Provider } from './provider.ts';

export type WishedBehaviour = 'gets ready' | 'never ready' | 'crashes';

/** What the suite wants of a component; the harness turns it into values that its provider understands. */
export interface Wish {
  readonly name: ComponentName;
  readonly commit: CommitSha;
  readonly behaviour: WishedBehaviour;
}

export interface ProviderHarness extends AsyncDisposable {
  /** The provider in use, over infrastructure that was empty at first. */
  provider(): Provider;
  /** The provider is killed and another one takes its place: everything in memory is lost, the infrastructure stays. */
  restart(): Promise<void>;
  /** Values that show the behaviour. A component that starts logs the line `started <commit>`. */
  values(wish: Wish): ResolvedComponent['values'];
  /** Values that the provider refuses, or why there are none. */
  readonly refusedValues: ResolvedComponent['values'] | { readonly none: string };
  /** Lets time pass until the check holds; fails if it never does. */
  until(check: () => Promise<boolean>): Promise<void>;
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
export const describeProvider = (create: () => Promise<ProviderHarness>): void => {
  const start = async (): Promise<World> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return new World(harness);
  };

  it('holds nothing at first', async () => {
    const { provider } = await start();
    expect(await provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('makes a component, which becomes current by itself once it is ready', async () => {
    const world = await start();
    const wanted = world.version(web, 1, { entry: true, dependsOn: [api] });
    await world.provider.ensure(shop, wanted, never);
    await world.untilCurrent(shop, wanted);
    const environment = await world.environment(shop);
    expect(environment).toMatchObject({ identity: shop, complete: true });
    const [component] = environment?.components ?? [];
    expect(component).toMatchObject({ name: web, provider: world.provider.name, entry: true, dependsOn: [api], next: null });
    expect(component?.retiring).toBe(false);
    expect(component?.current).toMatchObject({ commit: wanted.commit, health: 'ready', message: '' });
    expect(component?.outputs.url).toMatch(/^http:/);
  });

  it('lists a component from the moment that ensure returned', async () => {
    const world = await start();
    const wanted = world.version(web, 1, { behaviour: 'never ready' });
    await world.provider.ensure(shop, wanted, never);
    const component = await world.component(shop, web);
    expect(component).toMatchObject({ current: null, next: { revision: wanted.revision, commit: wanted.commit }, outputs: {} });
    expect(component?.next?.health).not.toBe('ready');
  });

  it('starts nothing a second time for a revision that is next or current', async () => {
    const world = await start();
    const slow = world.version(web, 1, { behaviour: 'never ready' });
    await world.provider.ensure(shop, slow, never);
    await world.provider.ensure(shop, slow, never);
    const good = world.version(api, 1);
    await world.provider.ensure(shop, good, never);
    await world.provider.ensure(shop, good, never);
    await world.untilCurrent(shop, good);
    const before = await world.component(shop, api);
    await world.provider.ensure(shop, good, never);
    expect(await world.component(shop, api)).toMatchObject({ current: before?.current, next: null, outputs: before?.outputs });
    expect(await world.starts(shop, good)).toBe(1);
    expect(await world.starts(shop, slow)).toBe(1);
  });

  it('updates: the old version serves until the new one is ready, and goes when the new one is ensured again', async () => {
    const world = await start();
    const [old, fresh] = [world.version(web, 1), world.version(web, 2)];
    await world.provider.ensure(shop, old, never);
    await world.untilCurrent(shop, old);
    await world.provider.ensure(shop, fresh, never);
    const during = await world.component(shop, web);
    expect([old.revision, fresh.revision]).toContain(during?.current?.revision);
    await world.untilCurrent(shop, fresh);
    expect(await world.component(shop, web)).toMatchObject({ next: null, retiring: true });
    await world.provider.ensure(shop, fresh, never);
    expect(await world.component(shop, web)).toMatchObject({
      current: { revision: fresh.revision },
      next: null,
      retiring: false,
    });
  });

  it('leaves the old version serving when the new one never gets ready, and says why', async () => {
    const world = await start();
    const [old, broken] = [world.version(web, 1), world.version(web, 2, { behaviour: 'never ready' })];
    await world.provider.ensure(shop, old, never);
    await world.untilCurrent(shop, old);
    const before = await world.component(shop, web);
    await world.provider.ensure(shop, broken, never);
    await world.untilFailing(shop, broken);
    const after = await world.component(shop, web);
    expect(after).toMatchObject({ current: before?.current, outputs: before?.outputs, next: { revision: broken.revision } });
    expect(after?.next?.message).not.toBe('');
  });

  it('never hands over to a version that crashes', async () => {
    const world = await start();
    const [old, broken] = [world.version(web, 1), world.version(web, 2, { behaviour: 'crashes' })];
    await world.provider.ensure(shop, old, never);
    await world.untilCurrent(shop, old);
    await world.provider.ensure(shop, broken, never);
    await world.untilFailing(shop, broken);
    expect(await world.component(shop, web)).toMatchObject({ current: { revision: old.revision, health: 'ready' } });
  });

  it('goes back to the current version while another is on its way', async () => {
    const world = await start();
    const [old, broken] = [world.version(web, 1), world.version(web, 2, { behaviour: 'never ready' })];
    await world.provider.ensure(shop, old, never);
    await world.untilCurrent(shop, old);
    const before = await world.component(shop, web);
    await world.provider.ensure(shop, broken, never);
    await world.provider.ensure(shop, old, never);
    expect(await world.component(shop, web)).toMatchObject({ current: before?.current, next: null, retiring: false });
    expect(await world.starts(shop, old)).toBe(1);
  });

  it('replaces a version that is still on its way', async () => {
    const world = await start();
    const [stuck, fresh] = [world.version(web, 1, { behaviour: 'never ready' }), world.version(web, 2)];
    await world.provider.ensure(shop, stuck, never);
    await world.provider.ensure(shop, fresh, never);
    await world.untilCurrent(shop, fresh);
    await world.provider.ensure(shop, fresh, never);
    expect(await world.component(shop, web)).toMatchObject({ next: null, retiring: false });
  });

  it('goes back to a version that was superseded', async () => {
    const world = await start();
    const [old, fresh] = [world.version(web, 1), world.version(web, 2)];
    for (const wanted of [old, fresh, old]) {
      await world.provider.ensure(shop, wanted, never);
      await world.untilCurrent(shop, wanted);
    }
    await world.provider.ensure(shop, old, never);
    expect(await world.component(shop, web)).toMatchObject({ current: { revision: old.revision }, next: null, retiring: false });
  });

  it('lists what is in scope', async () => {
    const world = await start();
    await world.provider.ensure(shop, world.version(web, 1), never);
    await world.provider.ensure(blog, world.version(web, 1), never);
    const ids = async (scope: Parameters<Provider['list']>[0]): Promise<string[]> =>
      (await world.provider.list(scope, never)).items.map(({ identity }) => identity.id).toSorted();
    expect(await ids({ all: true })).toEqual([shop.id, blog.id]);
    expect(await ids({ project: blog.project })).toEqual([blog.id]);
    expect(await ids({ environment: shop.id })).toEqual([shop.id]);
    expect(await ids({ environment: environmentId('00000000000000cc') })).toEqual([]);
  });

  it('keeps the name that an environment was created with', async () => {
    const world = await start();
    await world.provider.ensure(shop, world.version(web, 1), never);
    const renamed = { ...shop, name: environmentName('another-name-1'), createdAt: '2027-01-01T00:00:00.000Z' };
    await world.provider.ensure(renamed, world.version(api, 1), never);
    expect((await world.environment(shop))?.identity).toEqual(shop);
    await world.restart();
    expect((await world.environment(shop))?.identity).toEqual(shop);
  });

  it('makes several components of one environment at once', async () => {
    const world = await start();
    const wanted = ['web', 'api', 'worker', 'db'].map((name) => world.version(componentName(name), 1));
    await Promise.all(wanted.map((component) => world.provider.ensure(shop, component, never)));
    for (const component of wanted) await world.untilCurrent(shop, component);
    expect((await world.environment(shop))?.components).toHaveLength(4);
  });

  it('removes one component and leaves the others', async () => {
    const world = await start();
    const [first, second] = [world.version(web, 1), world.version(api, 1)];
    await world.provider.ensure(shop, first, never);
    await world.provider.ensure(shop, second, never);
    await world.untilCurrent(shop, second);
    await world.provider.remove(shop, web, never);
    expect((await world.environment(shop))?.components.map(({ name }) => name)).toEqual([api]);
    expect(await world.component(shop, api)).toMatchObject({ current: { revision: second.revision, health: 'ready' } });
  });

  it('removes the environment with its last component', async () => {
    const world = await start();
    for (const name of [web, api]) await world.provider.ensure(shop, world.version(name, 1), never);
    await Promise.all([web, api].map((name) => world.provider.remove(shop, name, never)));
    expect(await world.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('succeeds in removing what is not there, again and again', async () => {
    const world = await start();
    await world.provider.remove(shop, web, never);
    await world.provider.ensure(shop, world.version(web, 1), never);
    await world.provider.remove(shop, api, never);
    expect(await world.component(shop, web)).toBeDefined();
    await world.provider.remove(shop, web, never);
    await world.provider.remove(shop, web, never);
    expect(await world.environment(shop)).toBeUndefined();
  });

  it('makes again what was removed, under the name it is given then', async () => {
    const world = await start();
    await world.provider.ensure(shop, world.version(web, 1), never);
    await world.provider.remove(shop, web, never);
    const renamed = { ...shop, name: environmentName('another-name-1') };
    const again = world.version(web, 1);
    await world.provider.ensure(renamed, again, never);
    await world.untilCurrent(shop, again);
    expect((await world.environment(shop))?.identity).toEqual(renamed);
  });

  it('lists the same world after it was killed and started again', async () => {
    const world = await start();
    const [good, stuck] = [
      world.version(web, 1, { entry: true, dependsOn: [api] }),
      world.version(api, 1, { behaviour: 'never ready' }),
    ];
    await world.provider.ensure(shop, good, never);
    await world.provider.ensure(shop, stuck, never);
    await world.untilCurrent(shop, good);
    const before = await world.component(shop, web);
    await world.restart();
    const after = await world.component(shop, web);
    expect({ ...after, usage: null }).toEqual({ ...before, usage: null });
    expect(await world.component(shop, api)).toMatchObject({ current: null, next: { revision: stuck.revision } });
    for (const component of [good, stuck]) await world.provider.ensure(shop, component, never);
    expect(await world.starts(shop, good)).toBe(1);
    expect(await world.starts(shop, stuck)).toBe(1);
  });

  it('goes on with an update after it was killed and started again', async () => {
    const world = await start();
    const [old, fresh] = [world.version(web, 1), world.version(web, 2)];
    await world.provider.ensure(shop, old, never);
    await world.untilCurrent(shop, old);
    await world.provider.ensure(shop, fresh, never);
    await world.restart();
    await world.untilCurrent(shop, fresh);
    await world.restart();
    expect(await world.component(shop, web)).toMatchObject({ current: { revision: fresh.revision }, retiring: true });
    await world.provider.ensure(shop, fresh, never);
    expect(await world.component(shop, web)).toMatchObject({ current: { revision: fresh.revision }, retiring: false });
    expect(await world.starts(shop, fresh)).toBe(1);
  });

  it('removes what it made before it was killed', async () => {
    const world = await start();
    await world.provider.ensure(shop, world.version(web, 1), never);
    await world.restart();
    await world.provider.remove(shop, web, never);
    await world.restart();
    expect(await world.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('leaves something that can be completed when it is aborted', async () => {
    const world = await start();
    const wanted = world.version(web, 1);
    await expect(world.provider.ensure(shop, wanted, AbortSignal.abort())).rejects.toThrow('abort');
    await world.provider.ensure(shop, wanted, never);
    await world.untilCurrent(shop, wanted);
    await expect(world.provider.remove(shop, web, AbortSignal.abort())).rejects.toThrow('abort');
    await world.provider.remove(shop, web, never);
    expect(await world.environment(shop)).toBeUndefined();
  });

  it('brings back a component whose removal was aborted', async () => {
    const world = await start();
    const wanted = world.version(web, 1);
    await world.provider.ensure(shop, wanted, never);
    await world.untilCurrent(shop, wanted);
    const abort = new AbortController();
    const removal = world.provider.remove(shop, web, abort.signal);
    abort.abort();
    await removal.catch(() => 'aborted');
    await world.provider.ensure(shop, wanted, never);
    await world.untilCurrent(shop, wanted);
    expect(await world.component(shop, web)).toMatchObject({ current: { health: 'ready' } });
  });

  it('refuses values that it does not understand, and makes nothing of them', async (context) => {
    const world = await start();
    const values = world.harness.refusedValues;
    if ('none' in values && typeof values.none === 'string') return context.skip(values.none);
    const refused = { ...world.version(web, 1), values: values as ResolvedComponent['values'] };
    await expect(world.provider.ensure(shop, refused, never)).rejects.toMatchObject({ code: 'component.refused' });
    expect((await world.component(shop, web))?.next ?? null).toBeNull();
  });

  it('says that an environment changed, until nobody listens', async () => {
    const world = await start();
    const heard = new Set<string>();
    const listening = new AbortController();
    world.provider.watch((id) => heard.add(id), listening.signal);
    const wanted = world.version(web, 1);
    await world.provider.ensure(shop, wanted, never);
    await world.harness.until(() => Promise.resolve(heard.has(shop.id)));
    await world.untilCurrent(shop, wanted);
    listening.abort();
    heard.clear();
    await world.provider.ensure(blog, world.version(web, 1), never);
    expect(heard).toEqual(new Set());
  });

  it('hands out the last lines of the log, and ends when nobody reads any more', async () => {
    const world = await start();
    const wanted = world.version(web, 1);
    await world.provider.ensure(shop, wanted, never);
    await world.untilCurrent(shop, wanted);
    expect(await world.lines(shop, web, 1)).toHaveLength(1);
    const reading = new AbortController();
    const followed: string[] = [];
    for await (const line of world.provider.logs(shop.id, web, { tail: 100, follow: true, signal: reading.signal })) {
      followed.push(line);
      reading.abort();
    }
    expect(followed).toEqual([`started ${wanted.commit}`]);
  });
};

/** The harness, with the questions that the suite asks. */
class World {
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
    more: Partial<Pick<ResolvedComponent, 'entry' | 'dependsOn'>> & { readonly behaviour?: WishedBehaviour } = {},
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

  async lines(identity: Identity, name: ComponentName, tail: number): Promise<readonly string[]> {
    return Array.fromAsync(this.provider.logs(identity.id, name, { tail, follow: false, signal: never }));
  }

  /** How often this version was started, as far as the log knows. */
  async starts(identity: Identity, { name, commit }: ResolvedComponent): Promise<number> {
    await this.harness.until(async () => (await this.lines(identity, name, 1000)).length > 0);
    return (await this.lines(identity, name, 1000)).filter((line) => line === `started ${commit}`).length;
  }
}
