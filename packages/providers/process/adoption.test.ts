import { spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ComponentName } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';
import type { ProcessIdentity } from './processes.ts';
import type { ComponentRecord, InstanceRecord } from './records.ts';
import { createProcesses } from './this-machine.ts';

/** Rewrites what is on record about the process that serves. */
const rewrite = (
  harness: ProcessHarness,
  name: ComponentName,
  change: (current: InstanceRecord) => Partial<InstanceRecord>,
): void => {
  const path = harness.layout.componentRecord(identity.id, name);
  const file = JSON.parse(readFileSync(path, 'utf8')) as { record: ComponentRecord };
  const { current } = file.record;
  if (current === null) throw new Error('nothing serves');
  writeFileSync(path, JSON.stringify({ ...file, record: { ...file.record, current: { ...current, ...change(current) } } }));
};

const pids = async (harness: ProcessHarness): Promise<number[]> => (await harness.running()).map(({ pid }) => pid);

const startService = async (harness: ProcessHarness) => {
  const wanted = harness.component('web', 1, { command: run('answer.mjs') });
  await harness.provider.ensure(identity, wanted, never);
  await harness.untilReady(wanted);
  return wanted;
};

/** A process that has nothing to do with Eph. */
const startStranger = (): ProcessIdentity => {
  const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  const processes = createProcesses();
  const { pid = 0 } = stranger;
  return { pid, startTime: processes.readStartTime(pid) ?? '', bootId: processes.bootId };
};

describe('a provider that starts again', () => {
  it('goes on with the services that it finds', async () => {
    await using harness = new ProcessHarness();
    await startService(harness);
    const before = await pids(harness);
    await harness.restart();
    expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready' } });
    expect(await pids(harness)).toEqual(before);
  });

  it('knows the times of log lines, except of those that were written while it was away', async () => {
    await using world = new ProcessHarness();
    const command = 'while :; do echo tick; sleep 0.05; done';
    const wanted = world.component('web', 1, { command, ready: { kind: 'none' } });
    await world.provider.ensure(identity, wanted, never);
    await world.untilReady(wanted);
    const read = (since?: Date) =>
      Array.fromAsync(
        world.provider.logs(identity.id, wanted.name, { tail: 10_000, follow: false, signal: never, ...(since && { since }) }),
      );
    const [first] = await read();
    expect(first?.at).not.toBeNull();
    const path = world.layout.log(identity.id, wanted.name, first?.part ?? '');
    const before = Date.now();
    await world.restart(async () => {
      const { size } = statSync(path);
      await until('it went on writing', () => statSync(path).size > size + 50);
    });
    await until('it is read again', async () => (await read()).at(-1)?.at !== null);
    const known = (await read()).map(({ at }) => at !== null);
    expect(known.slice(known.indexOf(false), known.lastIndexOf(false) + 1)).not.toContain(true);
    expect(known.filter((isKnown) => !isKnown).length).toBeGreaterThanOrEqual(10);
    const times = (await read(new Date(before))).map(({ at }) => at ?? '');
    expect(times).toEqual(times.toSorted());
    expect(times.length).toBeGreaterThan(0);
    expect(Date.parse(times[0] ?? '')).toBeGreaterThanOrEqual(before - 1000);
  });

  it('starts a service again that ended while nobody looked', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const [before = 0] = await pids(harness);
    await harness.restart(() => void process.kill(before, 'SIGKILL'));
    expect((await harness.observe('web'))?.current?.revision).toBe(wanted.revision);
    await until('it runs again', async () => (await pids(harness)).some((pid) => pid !== before));
    await harness.untilReady(wanted);
    expect(await pids(harness)).toHaveLength(1);
  });

  it('starts a service again that it did not start itself and that ends later', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const [before = 0] = await pids(harness);
    await harness.restart();
    await harness.observe('web');
    process.kill(before, 'SIGKILL');
    await until('the end was noticed', async () => (await harness.observe('web'))?.current?.health === 'failing');
    await harness.untilReady(wanted);
    expect(await pids(harness)).not.toContain(before);
  });

  it('never adopts or ends a process that was given the number of one of its own', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const [service = 0] = await pids(harness);
    const stranger = startStranger();
    await harness.restart(() => {
      process.kill(service, 'SIGKILL');
      rewrite(harness, wanted.name, () => ({ process: { ...stranger, startTime: '12345' } }));
    });
    const seen = await harness.untilReady(wanted);
    expect(await fetch(seen.outputs.url ?? '').then(({ ok }) => ok)).toBe(true);
    await harness.provider.remove(identity, wanted.name, never);
    expect(createProcesses().readStartTime(stranger.pid)).toBe(stranger.startTime);
  });

  it('does not believe a record from before the machine went down', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const [service = 0] = await pids(harness);
    const stranger = startStranger();
    await harness.restart(() => {
      process.kill(service, 'SIGKILL');
      rewrite(harness, wanted.name, () => ({ process: { ...stranger, bootId: 'another boot' } }));
    });
    await harness.untilReady(wanted);
    await harness.provider.remove(identity, wanted.name, never);
    expect(createProcesses().readStartTime(stranger.pid)).toBe(stranger.startTime);
  });

  it('finds a service whose process is not on record, and does not start it twice', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const before = await pids(harness);
    await harness.restart(() => rewrite(harness, wanted.name, () => ({ process: null })));
    await harness.provider.ensure(identity, wanted, never);
    expect(await harness.observe('web')).toMatchObject({ current: { health: 'ready' }, next: null });
    expect(await pids(harness)).toEqual(before);
    await harness.provider.remove(identity, wanted.name, never);
    expect(await pids(harness)).toEqual([]);
  });

  it('carries out an intent that was never begun, once', async () => {
    await using harness = new ProcessHarness();
    const wanted = await startService(harness);
    const [before = 0] = await pids(harness);
    await harness.restart(() => {
      process.kill(before, 'SIGKILL');
      rewrite(harness, wanted.name, () => ({ process: null }));
    });
    await harness.observe('web');
    await until('it runs', async () => (await pids(harness)).some((pid) => pid !== before));
    await harness.untilReady(wanted);
    expect(await pids(harness)).toHaveLength(1);
  });

  it('clears away what a dead service left behind before it starts it again', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, { command: `setsid sleep 1000 & exec '${process.execPath}' answer.mjs` });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const before = await harness.running();
    const service = before.find(({ memoryBytes }) => memoryBytes > 10_000_000);
    if (service === undefined) throw new Error('nothing runs');
    await harness.restart(() => void process.kill(service.pid, 'SIGKILL'));
    await harness.observe('web');
    await until('everything is new', async () => {
      const now = await pids(harness);
      return now.length === 2 && before.every(({ pid }) => !now.includes(pid));
    });
    expect(await harness.untilReady(wanted)).toMatchObject({ next: null });
  });

  it('leaves services alone when it is closed', async () => {
    await using harness = new ProcessHarness();
    await startService(harness);
    const before = await pids(harness);
    await harness.restart(async () => expect(await pids(harness)).toEqual(before));
  });
});
