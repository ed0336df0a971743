import {
  completeReading,
  dnsLabel,
  failure,
  incompleteReading,
  type ListedRepository,
  projectId,
  type Reading,
  silentLog,
} from '@eph/contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConfiguredOrganisation, type ConfiguredProject, plainProject } from './config.ts';
import { forgeCalled } from './forge.fake.ts';
import { chooseRepositories, Organisations, toProjects } from './organisations.ts';

const work = forgeCalled('work');

const organisation = (owner: string, changes: Partial<ConfiguredOrganisation> = {}): ConfiguredOrganisation => ({
  forge: work,
  owner,
  include: ['*'],
  exclude: [],
  forks: 'deny',
  baseBranches: [],
  trusted: false,
  network: 'shared',
  labels: [],
  comments: true,
  texts: {},
  team: undefined,
  variables: {},
  ...changes,
});

const list = (...paths: readonly string[]): readonly ListedRepository[] => paths.map((path) => ({ path, archived: false }));

const namesOf = (projects: readonly ConfiguredProject[]) =>
  Object.fromEntries(projects.map(({ id, location }) => [location, id]));

describe('the repositories that are chosen', () => {
  it.each([
    [['*'], [], ['acme/shop', 'acme/shop-api', 'acme/web/Blog']],
    [['shop*'], [], ['acme/shop', 'acme/shop-api']],
    [['*'], ['*-api', 'blog'], ['acme/shop']],
    [['blog', 'shop'], [], ['acme/shop', 'acme/web/Blog']],
    [[], [], []],
    // What is in front of the name does not count.
    [['web'], [], []],
  ])('by %j without %j are %j', (include, exclude, chosen) => {
    const all = [...list('acme/shop', 'acme/shop-api', 'acme/web/Blog'), { path: 'acme/shop-old', archived: true }];
    expect(chooseRepositories(all, include, exclude).map(({ path }) => path)).toEqual(chosen);
  });
});

describe('the projects of an organisation', () => {
  it('are called as their repositories are, and have what the organisation has', () => {
    const acme = organisation('acme', { forks: 'approve', team: 'fruit', variables: { A: { value: '1', secret: false } } });
    expect(toProjects([], [{ organisation: acme, repositories: list('acme/web/My.Shop') }])).toEqual([
      {
        id: 'my-shop',
        location: 'acme/web/My.Shop',
        forge: work,
        forks: 'approve',
        baseBranches: [],
        trusted: false,
        network: 'shared',
        labels: [],
        comments: true,
        texts: {},
        repository: 'my-shop',
        team: 'fruit',
        variables: { A: { value: '1', secret: false } },
      },
    ]);
  });

  it('are called by their whole path where two would be called the same, whichever comes first', () => {
    const paths = ['acme/shop', 'acme/web/shop', 'acme/blog'];
    const expected = { 'acme/shop': 'acme-shop', 'acme/web/shop': 'acme-web-shop', 'acme/blog': 'blog' };
    for (const repositories of [list(...paths), list(...paths.toReversed())])
      expect(namesOf(toProjects([], [{ organisation: organisation('acme'), repositories }]))).toEqual(expected);
  });

  it('have names of their own even where whole paths become the same', () => {
    const repositories = list('acme/a/b-c', 'acme/a-b/c', 'acme/b-c', 'acme/c');
    const projects = toProjects(
      [],
      [
        { organisation: organisation('acme'), repositories },
        { organisation: organisation('acme', { forge: forgeCalled('other') }), repositories },
      ],
    );
    const ids = projects.map(({ id }) => id);
    expect(new Set(ids).size).toBe(8);
    expect(ids.every((id) => dnsLabel.test(id))).toBe(true);
  });

  it('are not added if configured, or if in an earlier organisation', () => {
    const configured = [
      { ...plainProject(projectId('store'), 'Acme/Shop'), forge: work },
      plainProject(projectId('blog'), '/srv/blog.git'),
    ];
    const projects = toProjects(configured, [
      { organisation: organisation('acme/web', { team: 'web' }), repositories: list('acme/web/site') },
      { organisation: organisation('acme', { team: 'all' }), repositories: list('acme/shop', 'acme/blog', 'acme/web/site') },
    ]);
    expect(namesOf(projects)).toEqual({
      'Acme/Shop': 'store',
      '/srv/blog.git': 'blog',
      'acme/blog': 'acme-blog',
      'acme/web/site': 'site',
    });
    expect(projects.find(({ id }) => id === 'site')?.team).toBe('web');
  });
});

describe('organisations', () => {
  const minute = 60_000;
  const fault = failure('forge.incomplete', 'half of it');

  const startWith = (first: Reading<ListedRepository>, configured: readonly ConfiguredProject[] = []) => {
    const clock = new ManualClock();
    const world = { reading: first as Reading<ListedRepository> | Error, reads: 0, refuses: false, onRead: () => {} };
    const told: (readonly string[])[] = [];
    const organisations = new Organisations({
      organisations: [organisation('acme')],
      projects: configured,
      clock,
      log: silentLog,
      async read() {
        world.reads += 1;
        world.onRead();
        if (world.reading instanceof Error) throw world.reading;
        return world.reading;
      },
      async onChange(projects) {
        if (world.refuses) throw new Error('not now');
        told.push(projects.map(({ id }) => id));
      },
    });
    onTestFinished(() => organisations[Symbol.asyncDispose]());
    /** Runs everything that falls due within this time. */
    const pass = async (ms: number) => {
      const { reads } = world;
      clock.advance(ms);
      await expect.poll(() => world.reads > reads && clock.nextDue() !== undefined).toBe(true);
    };
    return { clock, world, told, organisations, pass };
  };

  it('are read at the start and every ten minutes, and only changes are applied', async () => {
    const { world, told, organisations, pass, clock } = startWith(completeReading(list('acme/shop')));
    expect((await organisations.start()).map(({ id }) => id)).toEqual(['shop']);
    clock.advance(9 * minute);
    expect(world.reads).toBe(1);
    await pass(minute);
    expect(told).toEqual([]);
    world.reading = completeReading(list('acme/blog', 'acme/shop'));
    await pass(10 * minute);
    world.reading = completeReading(list('acme/shop', 'acme/blog'));
    await pass(10 * minute);
    world.reading = completeReading(list('acme/blog'));
    await pass(10 * minute);
    expect(told).toEqual([['blog', 'shop'], ['blog']]);
    expect(organisations.projects.map(({ id }) => id)).toEqual(['blog']);
  });

  it('keep what is known while they cannot be read completely, and are read again soon', async () => {
    const { world, told, organisations, pass } = startWith(completeReading(list('acme/shop', 'acme/blog')));
    await organisations.start();
    world.reading = incompleteReading(list('acme/blog'), fault);
    await pass(10 * minute);
    world.reading = new Error('no route');
    await pass(minute);
    expect(told).toEqual([]);
    expect(organisations.projects).toHaveLength(2);
    world.reading = completeReading(list('acme/blog'));
    await pass(minute);
    expect(told).toEqual([['blog']]);
  });

  it('add nothing before they were read completely once', async () => {
    const shop = plainProject(projectId('shop'), '/srv/shop.git');
    const { world, told, organisations, pass } = startWith(incompleteReading(list('acme/blog'), fault), [shop]);
    expect(await organisations.start()).toEqual([shop]);
    expect(organisations.unread).toMatchObject([{ owner: 'acme' }]);
    world.reading = completeReading(list('acme/blog', 'acme/shop'));
    await pass(minute);
    expect(told).toEqual([['shop', 'acme-shop', 'blog']]);
    expect(organisations.unread).toEqual([]);
  });

  it('are applied again after a failure', async () => {
    const { world, told, organisations, pass } = startWith(completeReading(list('acme/shop')));
    await organisations.start();
    world.reading = completeReading(list('acme/blog'));
    world.refuses = true;
    await pass(10 * minute);
    expect(organisations.projects.map(({ id }) => id)).toEqual(['shop']);
    world.refuses = false;
    await pass(minute);
    expect(told).toEqual([['blog']]);
  });

  it('are read soon after a webhook, and once for many', async () => {
    const { clock, world, told, organisations, pass } = startWith(completeReading(list('acme/shop')));
    await organisations.start();
    world.reading = completeReading(list('acme/blog'));
    for (let count = 0; count < 500; count += 1) organisations.wake();
    await pass(1_000);
    expect(told).toEqual([['blog']]);
    expect(world.reads).toBe(2);
    clock.advance(9 * minute);
    expect(world.reads).toBe(2);
    await pass(minute);
    expect(world.reads).toBe(3);
  });

  it('are read once more after a webhook that arrives while they are read', async () => {
    const { clock, world, told, organisations, pass } = startWith(completeReading(list('acme/shop')));
    await organisations.start();
    world.onRead = () => {
      world.onRead = () => {};
      organisations.wake();
    };
    await pass(10 * minute);
    world.reading = completeReading(list('acme/blog'));
    expect(clock.nextDue()).toBe(clock.now() + 1_000);
    await pass(1_000);
    expect(told).toEqual([['blog']]);
  });

  it('are not read after disposal', async () => {
    const { world, organisations, clock } = startWith(completeReading(list('acme/shop')));
    await organisations.start();
    await organisations[Symbol.asyncDispose]();
    clock.advance(60 * minute);
    expect(world.reads).toBe(1);
  });
});
