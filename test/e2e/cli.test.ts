import { join } from 'node:path';
import {
  type EnvironmentView,
  environmentListSchema,
  environmentSchema,
  eventListSchema,
  planSchema,
  whySchema,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { runEph as eph, type Outcome } from './run-eph.ts';
import { app, worker } from './sample-app.ts';

describe('eph with a real ephd', () => {
  let harness: EphdHarness;
  let environment: EnvironmentView;

  beforeAll(async () => {
    harness = await EphdHarness.create();
    await harness.start();
    environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app()));
    await harness.repository.push('preview/broken', { 'eph.yaml': 'version: 2\n' });
    await harness.until('preview/broken', 'failed', (one) => one.phase === 'Failed');
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  it('asks whose ephd it is without the token', async () => {
    const { code, out, err } = await eph(harness, ['list'], undefined, { XDG_STATE_HOME: harness.folder });
    expect({ code, out }).toEqual({ code: 8, out: '' });
    expect(err).toContain(`${harness.folder}/eph/token-${harness.apiPort} does not exist. Was it started by another user`);
  });

  it('lists environments', async () => {
    const { code, out } = await eph(harness, ['list']);
    expect(code).toBe(0);
    expect(out).toMatch(
      new RegExp(`${environment.name} +Ready .*preview/one.* http://${environment.name}\\.localhost:${harness.gatewayPort}`),
    );
    expect(out).not.toContain('\u001b[');
    const { environments } = environmentListSchema.parse(JSON.parse((await eph(harness, ['list', '--json'])).out));
    expect(environments.map((one) => one.source.name).toSorted()).toEqual(['preview/broken', 'preview/one']);
  });

  it('shows the status of one environment, with an exit code for scripts', async () => {
    const ready = await eph(harness, ['status', environment.name]);
    expect([ready.code, ready.out.includes('Ready'), ready.out.includes('web')]).toEqual([0, true, true]);
    const failed = await eph(harness, ['status', 'preview/broken']);
    expect([failed.code, failed.out.includes('eph.yaml')]).toEqual([6, true]);
    expect(environmentSchema.parse(JSON.parse((await eph(harness, ['status', '--json', environment.id])).out)).id).toBe(
      environment.id,
    );
  });

  it('watches the status until interrupted', async () => {
    const { code, out } = await eph(harness, ['status', '--watch', '--interval', '0.1'], (text) =>
      text.includes(environment.name),
    );
    expect([code, out.includes('Ready')]).toEqual([0, true]);
  });

  it('explains why an environment exists', async () => {
    expect((await eph(harness, ['why', environment.name])).out).toContain('preview/one matches preview/**');
    expect(whySchema.parse(JSON.parse((await eph(harness, ['why', environment.name, '--json'])).out)).name).toBe(
      environment.name,
    );
  });

  it('shows logs, and follows them', async () => {
    expect((await eph(harness, ['logs', environment.name])).out).toContain(`answering for ${environment.commit}`);
    let over = false;
    const following = eph(harness, ['logs', '--follow', environment.name], (out) => out.includes('good-morning')).finally(() => {
      over = true;
    });
    // Repeated until it appears: the test cannot see when the follower begins to listen.
    await eventually(
      'the line has come',
      async () => (await harness.visit(environment.name, { path: '/say/good-morning' })).status === 200 && over,
    );
    expect(await following).toMatchObject({ code: 0, err: '' });
  });

  it('shows what happened and what would happen', async () => {
    expect((await eph(harness, ['events'])).out).toContain('environment.wanted');
    expect(
      eventListSchema.parse(JSON.parse((await eph(harness, ['events', environment.name, '--json'])).out)).events.length,
    ).toBeGreaterThan(0);
    expect(planSchema.parse(JSON.parse((await eph(harness, ['plan', '--json'])).out)).faults).toEqual([]);
    expect((await eph(harness, ['plan'])).code).toBe(0);
  });

  it('prints the address of an environment', async () => {
    expect(await eph(harness, ['open', environment.name])).toMatchObject({ code: 0, out: `${environment.url}\n` });
  });

  it('lists only what matches', async () => {
    expect((await eph(harness, ['list', '--phase', 'Failed', '--quiet'])).out).not.toContain(environment.name);
    expect(await eph(harness, ['list', '--text', 'PREVIEW/ONE', '-q'])).toMatchObject({ code: 0, out: `${environment.name}\n` });
    const quiet = async (...filter: readonly string[]): Promise<string> => (await eph(harness, ['list', '-q', ...filter])).out;
    expect(await quiet('--provider', 'process')).toBe(`${environment.name}\n`);
    expect(await quiet('--provider', 'other')).toBe('');
    expect(await quiet('--project', 'shop')).toContain(`${environment.name}\n`);
    expect(await quiet('--project', 'other')).toBe('');
    expect((await eph(harness, ['list', '--author', 'nobody'])).out).toBe('No environment matches.\n');
    expect(await eph(harness, ['list', '--phase', 'Sleeping'])).toMatchObject({ code: 1, err: expect.stringContaining('phase') });
  });

  it('lists projects, sources, providers and what is held', async () => {
    expect((await eph(harness, ['projects'])).out).toMatch(/shop +git +2 /);
    const { out } = await eph(harness, ['sources', 'shop']);
    expect(out).toMatch(/branch preview\/one +\w+ +yes +branch preview\/one matches preview\/\*\*/);
    expect(await eph(harness, ['sources', 'blog'])).toMatchObject({ code: 3, err: expect.stringContaining('no project "blog"') });
    expect((await eph(harness, ['providers'])).out).toMatch(/process +process +(yes|no)/);
    expect((await eph(harness, ['held'])).out).toBe('Nothing is held.\n');
  });

  it('makes components again', async () => {
    const pidOf = async (): Promise<number> => (JSON.parse((await harness.visit(environment.name)).body) as { pid: number }).pid;
    const before = await pidOf();
    expect((await eph(harness, ['redeploy', environment.name])).out).toContain('web of ');
    await eventually('another process answers', async () => (await pidOf().catch(() => before)) !== before);
    expect(await eph(harness, ['redeploy', environment.name, 'db'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('no component "db"; it has: web'),
    });
    expect(await eph(harness, ['scale', environment.name, 'web', '3'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot scale'),
    });
  });

  it('finds the environment of the branch that is checked out', async () => {
    const checkout = join(harness.folder, 'checkout');
    await harness.repository.git(['clone', '--quiet', '--branch', 'preview/one', harness.repository.path, checkout]);
    const here = (...args: readonly string[]): Promise<Outcome> => eph(harness, args, undefined, {}, '', checkout);
    expect(await here('up', '--quiet')).toEqual({ code: 0, out: `${environment.url}\n`, err: '' });
    expect((await here('status')).out).toContain(`${environment.name}  Ready`);
    expect((await here('open')).out).toBe(`${environment.url}\n`);
  });

  it('waits until a component is made again', async () => {
    const { code, out } = await eph(harness, ['redeploy', environment.name, 'web', '--wait', '--timeout', '1m']);
    expect([code, out]).toEqual([0, expect.stringContaining(`${environment.name} is ready.\n`)]);
  });

  it('follows a removal to its end', async () => {
    const { name } = await harness.untilReady('preview/two', await harness.repository.push('preview/two', app(worker)));
    expect(await eph(harness, ['down', name, '--force', '--wait', '-q'])).toEqual({ code: 0, out: `${name}\n`, err: '' });
    expect((await eph(harness, ['status', name])).code).toBe(3);
  });

  it('diagnoses what is between you and an environment', async () => {
    const { code, out } = await eph(harness, ['wtf', environment.name]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^ok +connection /m)]);
    for (const check of ['clock', 'token', 'versions', 'leadership', 'readiness', 'projects', 'providers', 'history'])
      expect(out).toMatch(new RegExp(`^ok +${check} `, 'm'));
    expect((await eph(harness, ['wtf', 'preview/broken'])).code).toBe(1);
  });

  it.each([
    ['pin', 'environment.ttl'],
    ['pause', 'triggers'],
    ['extend', 'environment.ttl', '72h'],
  ])('says what to do instead of %s for a branch', async (command, key, ...args) => {
    const { code, err } = await eph(harness, [command, environment.name, ...args]);
    expect([code, err]).toEqual([1, expect.stringContaining(`branch preview/one has no labels: its environment`)]);
    expect(err).toContain(`\`${key}\` in \`eph.yaml\``);
  });

  it('shows its version and that of ephd', async () => {
    expect((await eph(harness, ['version'])).out).toMatch(/^eph \d+\.\d+\.\d+\n$/);
    expect((await eph(harness, ['version', '--ephd'])).out).toMatch(/^eph .*\nephd \d+\.\d+\.\d+\n$/);
  });

  it('has an exit code for each kind of failure', async () => {
    expect(await eph(harness, ['status', 'nobody'])).toMatchObject({ code: 3, err: expect.stringContaining('nobody') });
    expect(await eph(harness, ['lsit'])).toMatchObject({ code: 2, err: expect.stringContaining('list') });
    expect(await eph(harness, ['release', environment.name])).toMatchObject({
      code: 1,
      err: expect.stringContaining('not held'),
    });
    const unreachable = await eph(harness, ['list', '--server', 'http://127.0.0.1:1']);
    expect(unreachable).toMatchObject({ code: 4, err: expect.stringContaining('npm run ephd') });
  });
});

describe('eph release', () => {
  it('releases what the deletion guard holds', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await harness.repository.push('main', { README: 'what stays' });
    const branches = Array.from({ length: 6 }, (_, index) => `preview/b${index}`);
    for (const branch of branches) await harness.repository.push(branch, app(worker));
    await eventually(
      'all are ready',
      async () => (await harness.environments()).filter((one) => one.phase === 'Ready').length === 6,
    );
    await harness.repository.delete(...branches);
    const { name } = await eventually('one is held', async () => {
      const [first, ...others] = await harness.environments();
      return others.length === 0 && first?.summary.includes('held') === true ? first : undefined;
    });
    expect((await eph(harness, ['why', name])).out).toContain('eph release');
    expect((await eph(harness, ['release', name])).code).toBe(0);
    await eventually('nothing is left', async () => (await harness.environments()).length === 0);
    expect(harness.services()).toEqual([]);
  });
});
