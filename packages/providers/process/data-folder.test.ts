import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EphError, environmentId, environmentName, type Identity } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { identity, never, ProcessWorld, run, until } from './process-world.fake.ts';

const other: Identity = { ...identity, id: environmentId('00000000000000bb'), name: environmentName('other-1') };

const [mount, unmount] = ['/bin/mount', '/bin/umount'] as const;

const startBoth = async (world: ProcessWorld) => {
  const wanted = world.component('web', 1, { command: run('answer.mjs') });
  for (const one of [identity, other]) {
    await world.provider.ensure(one, wanted, never);
    await world.untilReady(wanted, one);
  }
  return wanted;
};

describe('a damaged data folder', () => {
  it('makes one environment incomplete when one record is damaged, which ensuring or removing repairs', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    const record = world.layout.componentRecord(identity.id, wanted.name);
    await world.restart(() => writeFileSync(record, '{"format":1,"record":{"na'));
    const { items, complete } = await world.provider.list({ all: true }, never);
    expect(complete).toBe(true);
    expect(items.map((one) => [one.identity.id, one.complete])).toEqual([
      [identity.id, false],
      [other.id, true],
    ]);
    expect(items[0]?.components).toMatchObject([{ name: 'web', current: null, next: null, retiring: true }]);
    expect(await world.running()).toHaveLength(2);
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
    expect((await world.provider.list({ environment: identity.id }, never)).items[0]?.complete).toBe(true);
    expect(await world.running()).toHaveLength(2);
    await world.restart(() => rmSync(record));
    await world.provider.remove(identity, wanted.name, never);
    expect((await world.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    expect(await world.running()).toHaveLength(1);
  });

  it('never replaces a record that a newer Eph wrote', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    const record = world.layout.componentRecord(identity.id, wanted.name);
    const kept = readFileSync(record, 'utf8');
    await world.restart(() => writeFileSync(record, kept.replace('"format":1', '"format":2')));
    await expect(world.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'provider.incomplete' });
    expect(await world.running()).toHaveLength(2);
    writeFileSync(record, kept);
    expect(await world.observe('web')).toMatchObject({ current: { health: 'ready' } });
  });

  it('makes the whole reading incomplete when it cannot say whose an environment is, and lists the others', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    await world.restart(() => writeFileSync(world.layout.identity(identity.id), 'garbage'));
    const reading = await world.provider.list({ all: true }, never);
    expect(reading).toMatchObject({ complete: false, faults: [{ code: 'provider.incomplete' }] });
    expect(reading.items.map((one) => one.identity.id)).toEqual([other.id]);
    expect((await world.provider.list({ environment: other.id }, never)).complete).toBe(true);
    expect((await world.provider.list({ environment: identity.id }, never)).complete).toBe(false);
    await world.provider.ensure(identity, wanted, never);
    expect((await world.provider.list({ all: true }, never)).complete).toBe(true);
    expect(await world.running()).toHaveLength(2);
  });

  it('takes an empty record, which only a power failure leaves, for a component that was never begun', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    for (const { session } of await world.running()) process.kill(session, 'SIGKILL');
    await world.restart(() => writeFileSync(world.layout.componentRecord(identity.id, wanted.name), ''));
    expect((await world.provider.list({ environment: identity.id }, never)).items).toMatchObject([
      { complete: true, components: [{ current: null }] },
    ]);
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
  });

  it('says that nothing is known when its disk is gone, and forgets nothing', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    renameSync(world.folder, `${world.folder}-away`);
    mkdirSync(world.folder);
    const reading = await world.provider.list({ all: true }, never);
    expect(reading).toMatchObject({ complete: false, faults: [{ code: 'provider.unreachable' }] });
    expect(reading.items).toHaveLength(2);
    await expect(world.provider.remove(identity, wanted.name, never)).rejects.toMatchObject({ code: 'provider.unreachable' });
    rmSync(world.folder, { recursive: true });
    renameSync(`${world.folder}-away`, world.folder);
    expect((await world.provider.list({ all: true }, never)).complete).toBe(true);
    expect(await world.running()).toHaveLength(2);
  });

  it('loses what somebody takes away by hand, and ends what ran for it', async () => {
    await using world = new ProcessWorld();
    const wanted = await startBoth(world);
    rmSync(world.layout.environment(identity.id), { recursive: true });
    expect((await world.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
    expect(await world.running()).toHaveLength(2);
    rmSync(world.layout.component(identity.id, wanted.name), { recursive: true });
    expect((await world.provider.list({ environment: identity.id }, never)).items).toEqual([]);
    await until('its processes were ended', async () => (await world.running()).length === 1);
  });

  it('loses what somebody took away while nobody looked, and ends what still runs for it', async () => {
    await using world = new ProcessWorld();
    await startBoth(world);
    await world.restart(() => rmSync(world.layout.environment(identity.id), { recursive: true }));
    expect((await world.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    await until('the orphan was ended', async () => (await world.running()).length === 1);
  });

  it('is swept of halves when it is opened', async () => {
    await using world = new ProcessWorld();
    mkdirSync(join(world.layout.scratch, 'half', 'of', 'a', 'tree'), { recursive: true });
    await world.provider.list({ all: true }, never);
    await until('it is gone', () => readdirSync(world.layout.scratch).length === 0);
    expect(await world.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });
});

describe('checkouts', () => {
  it('are made once for all components of a commit, and go with the last version that uses them', async () => {
    let exports = 0;
    await using world = new ProcessWorld({
      exportTree: async (_project, _commit, folder) => {
        exports += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
        mkdirSync(folder);
      },
    });
    const worker = (name: string, version: number) =>
      world.component(name, version, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    await Promise.all(['a', 'b', 'c'].map((name) => world.provider.ensure(identity, worker(name, 1), never)));
    expect(exports).toBe(1);
    const trees = (): string[] => readdirSync(join(world.layout.environment(identity.id), 'trees'));
    await world.provider.ensure(identity, worker('a', 2), never);
    await world.untilReady(worker('a', 2));
    await world.provider.ensure(identity, worker('a', 2), never);
    expect(trees()).toHaveLength(2);
    await world.provider.remove(identity, worker('b', 1).name, never);
    expect(trees()).toHaveLength(2);
    await world.provider.remove(identity, worker('c', 1).name, never);
    expect(trees()).toEqual([worker('a', 2).commit]);
  });

  it('that cannot be made leave a component that can be ensured later, or removed', async () => {
    let reachable = false;
    await using world = new ProcessWorld({
      exportTree: async (_project, _commit, folder) => {
        mkdirSync(folder);
        if (!reachable) throw new EphError('forge.unreachable', 'no answer');
      },
    });
    const wanted = world.component('web', 1, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    await expect(world.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'forge.unreachable' });
    expect(await world.observe('web')).toMatchObject({ current: null, next: null, retiring: false });
    await world.restart();
    expect(await world.observe('web')).toMatchObject({ current: null, next: null, retiring: false });
    await world.provider.remove(identity, wanted.name, never);
    expect((await world.provider.list({ all: true }, never)).items).toEqual([]);
    reachable = true;
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
  });

  it('stop being made when nobody waits any more', async () => {
    await using world = new ProcessWorld({
      exportTree: (_project, _commit, _folder, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })),
    });
    const wanted = world.component('web', 1, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    const abort = new AbortController();
    const ensuring = world.provider.ensure(identity, wanted, abort.signal);
    setTimeout(() => abort.abort(), 20);
    await expect(ensuring).rejects.toThrow('aborted');
    expect(await world.running()).toEqual([]);
  });

  it('are not left through a link', async () => {
    await using world = new ProcessWorld({
      exportTree: async (_project, _commit, folder) => {
        mkdirSync(folder);
        symlinkSync('/etc', join(folder, 'outside'));
        symlinkSync('..', join(folder, 'above'));
        symlinkSync('.', join(folder, 'same'));
      },
    });
    const command = ['sleep', '1000'];
    for (const directory of ['outside', 'above', 'same/above']) {
      const wanted = world.component('web', 1, { command, directory });
      await expect(world.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'component.refused' });
    }
    const wanted = world.component('web', 1, { command, directory: 'same', ready: { kind: 'none' } });
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
  });

  it('are removed even if a service made them read-only', async () => {
    await using world = new ProcessWorld();
    const wanted = world.component('web', 1, {
      command: 'mkdir -p a/b && touch a/b/c && chmod 500 a a/b && exec sleep 1000',
      ready: { kind: 'none' },
    });
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
    await world.provider.remove(identity, wanted.name, never);
    expect(existsSync(world.layout.environment(identity.id))).toBe(false);
    expect(readdirSync(world.layout.scratch)).toEqual([]);
  });
});

describe('a full disk', () => {
  it('fails with a sentence, damages nothing, and everything goes on when there is space again', async (context) => {
    const disk = realpathSync(mkdtempSync(join(tmpdir(), 'eph-small-disk-')));
    try {
      execFileSync(mount, ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk], { stdio: 'pipe' });
    } catch {
      rmSync(disk, { recursive: true });
      return context.skip('a small disk can only be mounted by root on Linux');
    }
    try {
      await using world = new ProcessWorld({ folder: join(disk, 'data'), limits: { restartFirstMs: 50, restartMaxMs: 100 } });
      const wanted = await startBoth(world);
      const filler = join(disk, 'filler');
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
      const more = world.component('more', 2, { command: run('answer.mjs') });
      await expect(world.provider.ensure(identity, more, never)).rejects.toMatchObject({ code: 'disk.full' });
      const update = world.component('web', 2, { command: run('answer.mjs') });
      await expect(world.provider.ensure(identity, update, never)).rejects.toMatchObject({ code: 'disk.full' });
      for (const { session } of await world.running()) process.kill(session, 'SIGKILL');
      await until(
        'it cannot be started',
        async () => (await world.observe('web'))?.current?.message.includes('is full') === true,
      );
      await world.restart();
      expect(await world.provider.list({ all: true }, never)).toMatchObject({ complete: true });
      expect((await world.observe('web'))?.current?.revision).toBe(wanted.revision);
      await world.provider.remove(other, wanted.name, never);
      rmSync(filler);
      await world.untilReady(wanted);
      await world.provider.ensure(identity, update, never);
      await world.untilReady(update);
      expect(await world.running()).toHaveLength(2);
    } finally {
      execFileSync(unmount, [disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  });
});
