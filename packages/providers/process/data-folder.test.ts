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
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const other: Identity = { ...identity, id: environmentId('00000000000000bb'), name: environmentName('other-1') };

const [mount, unmount] = ['/bin/mount', '/bin/umount'] as const;

const startBoth = async (harness: ProcessHarness) => {
  const wanted = harness.component('web', 1, { command: run('answer.mjs') });
  for (const one of [identity, other]) {
    await harness.provider.ensure(one, wanted, never);
    await harness.untilReady(wanted, one);
  }
  return wanted;
};

describe('a damaged data folder', () => {
  it('makes one environment incomplete when one record is damaged, which ensuring or removing repairs', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    const record = harness.layout.componentRecord(identity.id, wanted.name);
    await harness.restart(() => writeFileSync(record, '{"format":1,"record":{"na'));
    const { items, complete } = await harness.provider.list({ all: true }, never);
    expect(complete).toBe(true);
    expect(items.map((one) => [one.identity.id, one.complete])).toEqual([
      [identity.id, false],
      [other.id, true],
    ]);
    expect(items[0]?.components).toMatchObject([{ name: 'web', current: null, next: null, retiring: true }]);
    expect(await harness.running()).toHaveLength(2);
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    expect((await harness.provider.list({ environment: identity.id }, never)).items[0]?.complete).toBe(true);
    expect(await harness.running()).toHaveLength(2);
    await harness.restart(() => rmSync(record));
    await harness.provider.remove(identity, wanted.name, never);
    expect((await harness.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    expect(await harness.running()).toHaveLength(1);
  });

  it('never replaces a record that a newer Eph wrote', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    const record = harness.layout.componentRecord(identity.id, wanted.name);
    const kept = readFileSync(record, 'utf8');
    await harness.restart(() => writeFileSync(record, kept.replace('"format":1', '"format":2')));
    await expect(harness.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'provider.incomplete' });
    expect(await harness.running()).toHaveLength(2);
    writeFileSync(record, kept);
    expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready' } });
  });

  it('makes the whole reading incomplete when it cannot say whose an environment is, and lists the others', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    await harness.restart(() => writeFileSync(harness.layout.identity(identity.id), 'garbage'));
    const reading = await harness.provider.list({ all: true }, never);
    expect(reading).toMatchObject({ complete: false, faults: [{ code: 'provider.incomplete' }] });
    expect(reading.items.map((one) => one.identity.id)).toEqual([other.id]);
    expect((await harness.provider.list({ environment: other.id }, never)).complete).toBe(true);
    expect((await harness.provider.list({ environment: identity.id }, never)).complete).toBe(false);
    await harness.provider.ensure(identity, wanted, never);
    expect((await harness.provider.list({ all: true }, never)).complete).toBe(true);
    expect(await harness.running()).toHaveLength(2);
  });

  it('takes an empty record, which only a power failure leaves, for a component that was never begun', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    for (const { session } of await harness.running()) process.kill(session, 'SIGKILL');
    await harness.restart(() => writeFileSync(harness.layout.componentRecord(identity.id, wanted.name), ''));
    expect((await harness.provider.list({ environment: identity.id }, never)).items).toMatchObject([
      { complete: true, components: [{ current: null }] },
    ]);
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
  });

  it('removes an environment whose identity is empty, which only a power failure leaves', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    for (const { session } of await harness.running()) process.kill(session, 'SIGKILL');
    await harness.restart(() => writeFileSync(harness.layout.identity(identity.id), ''));
    const { complete, items } = await harness.provider.list({ all: true }, never);
    expect({ complete, ids: items.map((one) => one.identity.id) }).toEqual({ complete: true, ids: [other.id] });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
  });

  it('says that nothing is known when its disk is gone, and forgets nothing', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    renameSync(harness.folder, `${harness.folder}-away`);
    mkdirSync(harness.folder);
    const reading = await harness.provider.list({ all: true }, never);
    expect(reading).toMatchObject({ complete: false, faults: [{ code: 'provider.unreachable' }] });
    expect(reading.items).toHaveLength(2);
    await expect(harness.provider.remove(identity, wanted.name, never)).rejects.toMatchObject({ code: 'provider.unreachable' });
    rmSync(harness.folder, { recursive: true });
    renameSync(`${harness.folder}-away`, harness.folder);
    expect((await harness.provider.list({ all: true }, never)).complete).toBe(true);
    expect(await harness.running()).toHaveLength(2);
  });

  it('loses what somebody takes away by hand, and ends what ran for it', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startBoth(harness);
    rmSync(harness.layout.environment(identity.id), { recursive: true });
    expect((await harness.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    expect(await harness.running()).toHaveLength(2);
    rmSync(harness.layout.component(identity.id, wanted.name), { recursive: true });
    expect((await harness.provider.list({ environment: identity.id }, never)).items).toEqual([]);
    await until('its processes were ended', async () => (await harness.running()).length === 1);
  });

  it('loses what somebody took away while nobody looked, and ends what still runs for it', async () => {
    await using harness = new ProcessHarness();
    await startBoth(harness);
    await harness.restart(() => rmSync(harness.layout.environment(identity.id), { recursive: true }));
    expect((await harness.provider.list({ all: true }, never)).items.map((one) => one.identity.id)).toEqual([other.id]);
    await until('the orphan was ended', async () => (await harness.running()).length === 1);
  });

  it('is swept of halves when it is opened', async () => {
    await using harness = new ProcessHarness();
    mkdirSync(join(harness.layout.scratch, 'half', 'of', 'a', 'tree'), { recursive: true });
    await harness.provider.list({ all: true }, never);
    await until('it is gone', () => readdirSync(harness.layout.scratch).length === 0);
    expect(await harness.provider.list({ all: true }, never)).toMatchObject({ items: [], complete: true, faults: [] });
  });
});

describe('checkouts', () => {
  it('are made once for all components of a commit, and go with the last version that uses them', async () => {
    let exports = 0;
    await using harness = new ProcessHarness({
      exportTree: async (_project, _commit, folder) => {
        exports += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
        mkdirSync(folder);
      },
    });
    const worker = (name: string, version: number) =>
      harness.component(name, version, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    await Promise.all(['a', 'b', 'c'].map((name) => harness.provider.ensure(identity, worker(name, 1), never)));
    expect(exports).toBe(1);
    const trees = (): string[] => readdirSync(join(harness.layout.environment(identity.id), 'trees'));
    await harness.provider.ensure(identity, worker('a', 2), never);
    await harness.untilReady(worker('a', 2));
    await harness.provider.ensure(identity, worker('a', 2), never);
    expect(trees()).toHaveLength(2);
    await harness.provider.remove(identity, worker('b', 1).name, never);
    expect(trees()).toHaveLength(2);
    await harness.provider.remove(identity, worker('c', 1).name, never);
    expect(trees()).toEqual([worker('a', 2).commit]);
  });

  it('that cannot be made leave a component that can be ensured later, or removed', async () => {
    let reachable = false;
    await using harness = new ProcessHarness({
      exportTree: async (_project, _commit, folder) => {
        mkdirSync(folder);
        if (!reachable) throw new EphError('forge.unreachable', 'no answer');
      },
    });
    const wanted = harness.component('web', 1, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    await expect(harness.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'forge.unreachable' });
    expect(await harness.observe('web')).toMatchObject({ current: null, next: null, retiring: false });
    await harness.restart();
    expect(await harness.observe('web')).toMatchObject({ current: null, next: null, retiring: false });
    await harness.provider.remove(identity, wanted.name, never);
    expect((await harness.provider.list({ all: true }, never)).items).toEqual([]);
    reachable = true;
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
  });

  it('stop being made when nobody waits any more', async () => {
    await using harness = new ProcessHarness({
      exportTree: (_project, _commit, _folder, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })),
    });
    const wanted = harness.component('web', 1, { command: 'exec sleep 1000', ready: { kind: 'none' } });
    const abort = new AbortController();
    const ensuring = harness.provider.ensure(identity, wanted, abort.signal);
    setTimeout(() => abort.abort(), 20);
    await expect(ensuring).rejects.toThrow('aborted');
    expect(await harness.running()).toEqual([]);
  });

  it('are not left through a link', async () => {
    await using harness = new ProcessHarness({
      exportTree: async (_project, _commit, folder) => {
        mkdirSync(folder);
        symlinkSync('/etc', join(folder, 'outside'));
        symlinkSync('..', join(folder, 'above'));
        symlinkSync('.', join(folder, 'same'));
      },
    });
    const command = ['sleep', '1000'];
    for (const directory of ['outside', 'above', 'same/above']) {
      const wanted = harness.component('web', 1, { command, directory });
      await expect(harness.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'component.refused' });
    }
    const wanted = harness.component('web', 1, { command, directory: 'same', ready: { kind: 'none' } });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
  });

  it('are removed even if a service made them read-only', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, {
      command: 'mkdir -p a/b && touch a/b/c && chmod 500 a a/b && exec sleep 1000',
      ready: { kind: 'none' },
    });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    await harness.provider.remove(identity, wanted.name, never);
    expect(existsSync(harness.layout.environment(identity.id))).toBe(false);
    expect(readdirSync(harness.layout.scratch)).toEqual([]);
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
      await using harness = new ProcessHarness({ folder: join(disk, 'data'), limits: { restartFirstMs: 50, restartMaxMs: 100 } });
      const wanted = await startBoth(harness);
      const filler = join(disk, 'filler');
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
      const more = harness.component('more', 2, { command: run('answer.mjs') });
      await expect(harness.provider.ensure(identity, more, never)).rejects.toMatchObject({ code: 'disk.full' });
      const update = harness.component('web', 2, { command: run('answer.mjs') });
      await expect(harness.provider.ensure(identity, update, never)).rejects.toMatchObject({ code: 'disk.full' });
      for (const { session } of await harness.running()) process.kill(session, 'SIGKILL');
      await until(
        'it cannot be started',
        async () => (await harness.observe('web'))?.current?.message.includes('is full') === true,
      );
      await harness.restart();
      expect(await harness.provider.list({ all: true }, never)).toMatchObject({ complete: true });
      expect((await harness.observe('web'))?.current?.revision).toBe(wanted.revision);
      await harness.provider.remove(other, wanted.name, never);
      rmSync(filler);
      await harness.untilReady(wanted);
      await harness.provider.ensure(identity, update, never);
      await harness.untilReady(update);
      expect(await harness.running()).toHaveLength(2);
    } finally {
      execFileSync(unmount, [disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  });
});
