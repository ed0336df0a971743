import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';
import { createProcesses } from './this-machine.ts';

describe('a service that does not behave', () => {
  it('and ignores TERM is killed after the grace', async () => {
    await using harness = new ProcessHarness({ limits: { graceMs: 300 } });
    const wanted = harness.component('web', 1, { command: `trap '' TERM; while :; do sleep 1; done`, ready: { kind: 'none' } });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    await harness.provider.remove(identity, wanted.name, never);
    expect(await harness.running()).toEqual([]);
  });

  it('and is stopped is ended all the same', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, { command: run('idle.mjs'), ready: { kind: 'none' } });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    for (const { pid } of await harness.running()) process.kill(pid, 'SIGSTOP');
    await harness.provider.remove(identity, wanted.name, never);
    expect(await harness.running()).toEqual([]);
  });

  it('and starts processes in sessions of their own leaves none of them behind', async () => {
    await using harness = new ProcessHarness();
    const command = `setsid sleep 1000 & setsid setsid sleep 1000 & (sleep 1000 &) ; exec '${process.execPath}' answer.mjs`;
    const wanted = harness.component('web', 1, { command });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    await until('all four run', async () => (await harness.running()).length >= 4);
    await harness.provider.remove(identity, wanted.name, never);
    expect(await harness.running()).toEqual([]);
  });

  it('and starts processes without its variables that ignore TERM leaves none of them behind', async () => {
    await using harness = new ProcessHarness({ limits: { graceMs: 300 } });
    const command = `env -i /bin/sh -c 'trap "" TERM; echo $$ > stray; exec sleep 1000' & exec '${process.execPath}' answer.mjs`;
    const wanted = harness.component('web', 1, { command });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const stray = await harness.readTreeNumber(wanted, 'stray');
    await harness.provider.remove(identity, wanted.name, never);
    expect(await harness.running()).toEqual([]);
    // In a sandbox, a service knows its processes by other numbers.
    expect(harness.isSandboxed ? undefined : createProcesses().readStartTime(stray)).toBeUndefined();
  });

  it('and goes to the background is not taken for a service, and leaves nothing there', async () => {
    await using harness = new ProcessHarness();
    const command = `setsid '${process.execPath}' answer.mjs & sleep 0.2`;
    const wanted = harness.component('web', 1, { command, ready: { kind: 'http', path: '/never' }, readyTimeoutSeconds: 30 });
    await harness.provider.ensure(identity, harness.component('web', 2, { command: 'setsid sleep 1000 &' }), never);
    await until(
      'it was told to stay',
      async () => (await harness.observe('web'))?.next?.message.includes('run it in the foreground') === true,
    );
    expect((await harness.observe('web'))?.current).toBeNull();
    await harness.provider.ensure(identity, wanted, never);
    await harness.provider.remove(identity, wanted.name, never);
    expect(await harness.running()).toEqual([]);
  });

  it('and floods its log stays within its limits, and can still be read', async () => {
    const logBytes = 200_000;
    await using harness = new ProcessHarness({ limits: { logBytes } });
    const wanted = harness.component('web', 1, { command: 'yes "a line of the flood"', ready: { kind: 'none' } });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const [process] = await harness.running();
    const log = harness.layout.log(identity.id, wanted.name, process?.marker?.split('/').at(-1) ?? '');
    await until('the log was cut', () => statSync(`${log}.1`, { throwIfNoEntry: false }) !== undefined);
    expect(statSync(`${log}.1`).size).toBeLessThanOrEqual(logBytes);
    const lines: string[] = [];
    for await (const { text } of harness.provider.logs(identity.id, wanted.name, { tail: 10, follow: true, signal: never })) {
      lines.push(text);
      if (lines.length === 20_000) break;
    }
    expect(new Set(lines.slice(0, 10))).toEqual(new Set(['a line of the flood']));
  });
});
