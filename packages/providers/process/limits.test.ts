import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentId, projectId } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findCgroups } from './cgroups.ts';
import { DiskQuota } from './disk-quota.ts';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const { lacks } = findCgroups('/anywhere');

/** The group of each controller that a process of a service is in. */
const groupsOf = (pid: number): readonly string[] =>
  readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, names = '', path = ''] = line.split(':');
      return path.includes(`/${identity.id}/`) ? [join('/sys/fs/cgroup', names, path)] : [];
    });

const skipped = lacks === undefined ? '' : ` [skipped here: ${lacks}; ordinary-user.test.ts runs it]`;

describe.skipIf(lacks !== undefined)(`cgroups${skipped}`, () => {
  it('hold what an environment may use together, and go with it', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, { command: run('answer.mjs'), cpu: 0.5, memoryBytes: 300 * 2 ** 20 });
    await harness.provider.ensure(identity, { ...wanted, budget: { memoryBytes: 500 * 2 ** 20 } }, never);
    await harness.untilReady(wanted);
    const [one] = await harness.running();
    const groups = groupsOf(one?.pid ?? 0);
    const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8').trim() : '');
    const all = groups.flatMap((inner) =>
      [inner, join(inner, '..')].flatMap((group) =>
        ['cpu.max', 'cpu.cfs_quota_us', 'memory.max', 'memory.limit_in_bytes', 'pids.max'].map((file) => read(join(group, file))),
      ),
    );
    expect(all.map((text) => text.split(' ')[0])).toEqual(
      expect.arrayContaining(['50000', String(300 * 2 ** 20), String(500 * 2 ** 20), '256']),
    );
    await harness.provider.remove(identity, wanted.name, never);
    await until('the groups are gone', () => groups.every((group) => !existsSync(join(group, '..'))));
  });

  it('stop a fork bomb, and its neighbours go on', async () => {
    await using harness = new ProcessHarness();
    const good = harness.component('web', 1, { command: run('answer.mjs') });
    const other = { ...identity, id: '00000000000000bb' as typeof identity.id, name: 'shop-other-1' as typeof identity.name };
    await harness.provider.ensure(other, good, never);
    // Children stay, and the parent goes on trying.
    const bombing =
      'for (;;) { my $child = fork; sleep 1000 if defined $child && $child == 0; select undef, undef, undef, 0.01 unless defined $child }';
    const bomb = harness.component('bomb', 1, { command: ['perl', '-e', bombing], ready: { kind: 'none' } });
    await harness.provider.ensure(identity, bomb, never);
    const count = async (): Promise<number> =>
      (await harness.running()).filter(({ marker }) => marker?.includes('/bomb/') === true).length;
    await until('it reached its limit', async () => (await count()) > 200);
    expect(await count()).toBeLessThanOrEqual(256);
    const { outputs } = await harness.untilReady(good, other);
    expect((await fetch(outputs.url ?? '')).ok).toBe(true);
    await harness.provider.remove(identity, bomb.name, never);
    expect(await count()).toBe(0);
  });

  it('end a service that takes too much memory, which says so', async () => {
    await using harness = new ProcessHarness();
    const greedy = `'${process.execPath}' -e 'const all = []; setInterval(() => all.push(Buffer.alloc(2 ** 24, 1)), 5)'`;
    const wanted = harness.component('web', 1, { command: greedy, memoryBytes: 200 * 2 ** 20, readyTimeoutSeconds: 60 });
    await harness.provider.ensure(identity, wanted, never);
    await until('it ended', async () => (await harness.observe('web'))?.next?.health === 'failing');
    expect((await harness.observe('web'))?.next?.message).toContain('used all the memory that it may use');
    const other = harness.component('web', 2, { command: 'exit 3', readyTimeoutSeconds: 60 });
    await harness.provider.ensure(identity, other, never);
    await until('the next version ended', async () => {
      const next = (await harness.observe('web'))?.next;
      return next?.revision === other.revision && next.health === 'failing';
    });
    expect((await harness.observe('web'))?.next?.message).toContain('It exited with code 3.');
  });
});

describe('the disk', () => {
  it('is not filled by an environment, which ends with that reason and stays so', async () => {
    const budget = { diskBytes: 100 * 2 ** 20, projectDiskBytes: 2 ** 40, cacheBytes: 2 ** 40 };
    await using harness = new ProcessHarness({ budget });
    const fill = 'while :; do head -c 33554432 /dev/zero > "file-$(date +%N)"; sleep 0.05; done';
    const wanted = harness.component('web', 1, { command: fill, ready: { kind: 'none' } });
    await harness.provider.ensure(identity, wanted, never);
    await until('it says why', async () => (await harness.observe('web'))?.current?.message.includes('of the disk') === true);
    expect((await harness.observe('web'))?.current).toMatchObject({
      health: 'failing',
      message: expect.stringMatching(/^Its environment uses [\d.]+ GiB of the disk, and may use 0\.098 GiB\.$/),
    });
    await until('nothing runs', async () => (await harness.running()).length === 0);
    await harness.provider.ensure(identity, wanted, never);
    expect(await harness.running()).toEqual([]);
  });

  it('is not filled by the environments of one project together: the largest ends', async () => {
    const stopped: string[] = [];
    const folder = mkdtempSync(join(tmpdir(), 'eph-quota-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const users = [['a', 3, 'shop'] as const, ['b', 4, 'shop'] as const, ['c', 5, 'news'] as const].map(
      ([id, mebibytes, project]) => {
        mkdirSync(join(folder, id));
        writeFileSync(join(folder, id, 'file'), Buffer.alloc(mebibytes * 2 ** 20, 1));
        const stop = (why: string) => Promise.resolve(void stopped.push(`${id}: ${why}`));
        return { identity: { id: environmentId(id.repeat(16)), project: projectId(project) }, folder: join(folder, id), stop };
      },
    );
    let free = 10 * 2 ** 30;
    const quota = new DiskQuota({ diskBytes: 2 ** 30, projectDiskBytes: 6 * 2 ** 20, cacheBytes: 2 ** 40 }, () => free);
    await quota.check(() => users);
    expect(stopped).toEqual([]);
    free -= 2 ** 30;
    await quota.check(() => users);
    expect(stopped).toEqual([
      'b: The environments of shop use 0.0068 GiB of the disk, and may use 0.0059 GiB; this one is the largest.',
    ]);
  });
});

describe.skipIf(process.platform !== 'linux')('the kernel', () => {
  it('ends services before it ends ephd where memory is used up', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const [one] = await harness.running();
    expect(Number(readFileSync(`/proc/${one?.pid}/oom_score_adj`, 'utf8'))).toBe(500);
  });
});
