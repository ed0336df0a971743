import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commitSha, type ResolvedComponent, revision } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const other = { ...identity, id: '00000000000000bb' as typeof identity.id, name: 'shop-other-1' as typeof identity.name };

const prepare = (command: string, more: object = {}) => ({ command, env: {}, timeoutSeconds: 60, ...more });

/** Prints what was prepared, and answers. */
const answering = 'cat prepared; exec ' + run('answer.mjs').join(' ');

const logsOf = async (harness: ProcessHarness, name: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  const options = { tail: 100, follow: false, signal: never };
  for await (const { part, text } of harness.provider.logs(identity.id, name as ResolvedComponent['name'], options))
    lines.push(part === 'prepare' ? `prepare: ${text}` : text);
  return lines;
};

const messageOf = async (harness: ProcessHarness, name = 'web'): Promise<string | undefined> =>
  (await harness.observe(name))?.next?.message;

const checkouts = (harness: ProcessHarness, id = identity.id): readonly string[] => readdirSync(harness.layout.trees(id));

describe('prepare', () => {
  it('runs once in a checkout, before the services that share it', async () => {
    await using harness = new ProcessHarness();
    const before = prepare('echo once >> prepared; echo installing; sleep 0.2', { env: { MODE: 'quick' } });
    const web = harness.component('web', 1, { command: answering, prepare: before });
    const api = harness.component('api', 1, { command: answering, prepare: before });
    await Promise.all([web, api].map((one) => harness.provider.ensure(identity, one, never)));
    expect(await messageOf(harness)).toMatch(/prepare runs since \d\d:\d\d:\d\d UTC$/);
    await Promise.all([web, api].map((one) => harness.untilReady(one)));
    for (const name of ['web', 'api'])
      await until('it printed', async () => (await logsOf(harness, name)).join().includes('prepare: installing,once,started'));
    expect(
      (await harness.provider.list({ environment: identity.id, parts: true }, never)).items[0]?.components[0]?.parts,
    ).toEqual([
      { instance: 'prepare', image: null, restarts: 0, message: expect.stringMatching(/^prepare took \d+\.\d s$/) },
      expect.objectContaining({ restarts: 0, message: '' }),
    ]);
  });

  it('gets the variables of all services, and no port', async () => {
    await using harness = new ProcessHarness({ secretOf: (_project, name) => (name === 'KEY' ? 'very-secret' : undefined) });
    const before = prepare('echo "$MODE $TOKEN [$PORT]" > prepared', {
      env: { MODE: 'quick' },
      secretEnv: { TOKEN: [{ secret: 'KEY' }] },
    });
    const web = harness.component('web', 1, { command: answering, prepare: before });
    await harness.provider.ensure(identity, web, never);
    await harness.untilReady(web);
    await until('it printed', async () => (await logsOf(harness, 'web')).includes('quick very-secret []'));
    const records = readdirSync(harness.folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.json'));
    expect(records.length).toBeGreaterThan(2);
    for (const path of records) expect(readFileSync(join(harness.folder, path), 'utf8')).not.toContain('very-secret');
  });

  it('is not shared between environments, commits, or ways of preparing', async () => {
    await using harness = new ProcessHarness();
    const command = 'cat /proc/sys/kernel/random/uuid > prepared';
    const web = harness.component('web', 1, { command: answering, prepare: prepare(command) });
    const seen = new Set<string>();
    const start = async (component: ResolvedComponent, of = identity): Promise<void> => {
      await harness.provider.ensure(of, component, never);
      await harness.untilReady(component, of);
      await harness.provider.ensure(of, component, never);
      const [name] = checkouts(harness, of.id).filter((one) => !one.endsWith('.prepared'));
      seen.add(readFileSync(join(harness.layout.trees(of.id), name ?? '', 'prepared'), 'utf8'));
    };
    await start(web);
    await start(web, other);
    await start({ ...web, commit: commitSha('2'.repeat(40)), revision: revision('2'.repeat(40)) });
    await start({
      ...web,
      values: { ...web.values, prepare: prepare(command, { env: { MODE: 'other' } }) },
      revision: revision('3'.repeat(40)),
    });
    expect(seen.size).toBe(4);
    expect(checkouts(harness)).toHaveLength(2);
  });

  it('that fails says so with its last lines, and is not tried again until something changes', async () => {
    await using harness = new ProcessHarness();
    const failing = prepare('echo try >> tries; echo one; echo "no such package"; exit 7');
    const web = harness.component('web', 1, { command: answering, prepare: failing });
    await harness.provider.ensure(identity, web, never);
    await until('it failed', async () => (await harness.observe('web'))?.next?.health === 'failing');
    const why = 'prepare failed: It exited with code 7. Its last lines were: one | no such package';
    expect((await harness.observe('web'))?.next).toMatchObject({ message: why, stalled: true });
    await harness.provider.ensure(identity, web, never);
    await harness.restart();
    await until('it says so again', async () => (await messageOf(harness)) === why);
    const [name] = checkouts(harness);
    expect(readFileSync(join(harness.layout.trees(identity.id), name ?? '', 'tries'), 'utf8')).toBe('try\n');
    const mended = { ...web, commit: commitSha('2'.repeat(40)), revision: revision('2'.repeat(40)) };
    const values = { ...web.values, prepare: prepare('touch prepared') };
    await harness.provider.ensure(identity, { ...mended, values }, never);
    await harness.untilReady(mended);
  });

  it('that failed is tried again for a component that is removed and made again', async () => {
    await using harness = new ProcessHarness();
    const failing = prepare(
      'echo try >> "$npm_config_cache-tries"; [ "$(wc -l < "$npm_config_cache-tries")" -gt 1 ] && touch prepared',
    );
    const [web, api] = ['web', 'api'].map((name) => harness.component(name, 1, { command: answering, prepare: failing }));
    if (web === undefined || api === undefined) throw new Error('there are two');
    await Promise.all([web, api].map((one) => harness.provider.ensure(identity, one, never)));
    await until('both failed', async () => {
      const seen = await Promise.all([harness.observe('web'), harness.observe('api')]);
      return seen.every((one) => one?.next?.stalled === true);
    });
    await harness.provider.remove(identity, web.name, never);
    await harness.provider.ensure(identity, web, never);
    await harness.untilReady(web);
    expect((await harness.observe('api'))?.next).toMatchObject({ stalled: true });
  });

  it('that takes too long is ended with everything that it started', async () => {
    await using harness = new ProcessHarness();
    const hanging = prepare('env -i setsid sleep 1000 & echo waiting; sleep 1000', { timeoutSeconds: 0.5 });
    const web = harness.component('web', 1, { command: answering, prepare: hanging });
    await harness.provider.ensure(identity, web, never);
    await until('it failed', async () => (await harness.observe('web'))?.next?.health === 'failing');
    expect(await messageOf(harness)).toContain('prepare failed: It took longer than 0.5 s. Its last lines were: waiting');
    expect(await harness.running()).toEqual([]);
  });

  it('leaves nothing running when it has finished', async () => {
    await using harness = new ProcessHarness();
    const web = harness.component('web', 1, { command: answering, prepare: prepare('touch prepared; setsid sleep 1000 &') });
    await harness.provider.ensure(identity, web, never);
    await harness.untilReady(web);
    expect(await harness.running()).toHaveLength(1);
  });

  it('lets the old version serve until it has finished', async () => {
    await using harness = new ProcessHarness();
    const old = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, old, never);
    const { outputs } = await harness.untilReady(old);
    const next = harness.component('web', 2, {
      command: answering,
      prepare: prepare('while [ ! -e go ]; do sleep 0.05; done; touch prepared'),
    });
    await harness.provider.ensure(identity, next, never);
    await until('it runs', async () => (await harness.running()).length > 1);
    expect((await fetch(outputs.url ?? '')).ok).toBe(true);
    expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready' }, next: { health: 'starting' } });
  });

  it('is ended when a newer commit supersedes it, or its environment is removed', async () => {
    await using harness = new ProcessHarness();
    const slow = harness.component('web', 1, { command: answering, prepare: prepare('sleep 1000') });
    await harness.provider.ensure(identity, slow, never);
    await until('it runs', async () => (await harness.running()).length > 0);
    const next = harness.component('web', 2, { command: answering, prepare: prepare('touch prepared') });
    await harness.provider.ensure(identity, next, never);
    await harness.untilReady(next);
    await until('only the service runs', async () => (await harness.running()).length === 1);
    const third = harness.component('web', 3, { command: answering, prepare: prepare('sleep 1000') });
    await harness.provider.ensure(identity, third, never);
    await until('it runs again', async () => (await harness.running()).length > 1);
    await harness.provider.remove(identity, third.name, never);
    expect(await harness.running()).toEqual([]);
    expect(existsSync(harness.layout.environment(identity.id))).toBe(false);
  });

  it('is done again for a commit that is wanted again while it ends', async () => {
    await using harness = new ProcessHarness({ limits: { graceMs: 500 } });
    // What is in the package cache stays, and can be seen from outside.
    const go = '"${npm_config_cache%/*}/go"';
    const command = `test ! -e half || exit 1; touch half; test -e ${go} || { trap "" TERM; touch ${go}; sleep 1000; }`;
    const first = harness.component('web', 1, { command: answering, prepare: prepare(command) });
    await harness.provider.ensure(identity, first, never);
    await until('it runs', () => existsSync(join(harness.layout.cache(identity.project), 'go')));
    const next = harness.component('web', 2, { command: answering, prepare: prepare('touch prepared') });
    const superseding = harness.provider.ensure(identity, next, never);
    await until('it is superseded', async () => (await harness.observe('web'))?.next?.revision === next.revision);
    const health = new Set<string | undefined>();
    await Promise.all([superseding, harness.provider.ensure(identity, first, never)]);
    await until('it is ready', async () => {
      const { current, next: starting } = (await harness.observe('web')) ?? {};
      health.add(starting?.health);
      return current?.revision === first.revision && current.health === 'ready';
    });
    expect(health).not.toContain('failing');
  });

  it('that was cut off with ephd is thrown away with its checkout, and done again', async () => {
    await using harness = new ProcessHarness();
    const command = 'test ! -e half; touch half; cat /proc/sys/kernel/random/uuid > prepared; sleep 0.5';
    const web = harness.component('web', 1, { command: answering, prepare: prepare(command) });
    await harness.provider.ensure(identity, web, never);
    const checkout = (): string => checkouts(harness).find((one) => !one.endsWith('.prepared')) ?? '';
    const half = (): string => join(harness.layout.trees(identity.id), checkout(), 'half');
    await until('it has begun', () => existsSync(half()));
    await harness.restart();
    await harness.untilReady(web);
    expect((await harness.observe('web'))?.current?.health).toBe('ready');
  });

  it('is done again if its record was damaged', async () => {
    await using harness = new ProcessHarness();
    const web = harness.component('web', 1, { command: answering, prepare: prepare('test ! -e prepared && touch prepared') });
    await harness.provider.ensure(identity, web, never);
    await harness.untilReady(web);
    for (const { session } of await harness.leaders()) process.kill(session, 'SIGKILL');
    const [name = ''] = checkouts(harness);
    await harness.restart(() => writeFileSync(harness.layout.preparationRecord(identity.id, name), ''));
    await until('it serves again', async () => {
      const { current } = (await harness.observe('web')) ?? {};
      return current?.health === 'ready' && (await harness.running()).length === 1;
    });
    expect((await harness.observe('web'))?.current?.revision).toBe(web.revision);
  });

  it('cannot lead a service out of its checkout', async () => {
    await using harness = new ProcessHarness();
    const web = harness.component('web', 1, {
      command: answering,
      directory: 'inside',
      prepare: prepare('rm -r inside; ln -s /etc inside'),
    });
    await harness.provider.ensure(identity, web, never);
    await until('it failed', async () => (await harness.observe('web'))?.next?.health === 'failing');
    expect(await messageOf(harness)).toContain('leads out of the repository through a link');
  });

  it('that floods its log keeps the end of it', async () => {
    await using harness = new ProcessHarness({ limits: { logBytes: 100_000 } });
    const web = harness.component('web', 1, {
      command: answering,
      prepare: prepare('yes flood | head -c 3000000; touch prepared; sleep 0.3; echo the end'),
    });
    await harness.provider.ensure(identity, web, never);
    await harness.untilReady(web);
    expect(await logsOf(harness, 'web')).toContain('prepare: the end');
  });
});
