import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ObservedComponent } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const fetchVariables = async (component: ObservedComponent | undefined): Promise<Record<string, string>> => {
  const response = await fetch(component?.outputs.url ?? 'http://there.is.no.output');
  return (await response.json()) as Record<string, string>;
};

const processOf = async (harness: ProcessHarness): Promise<number> => {
  const [found] = await harness.running();
  if (found === undefined) throw new Error('nothing runs');
  return found.pid;
};

describe('a service', () => {
  it('runs in its checkout with its own port and variables, and sees nothing of ephd', async () => {
    await using harness = new ProcessHarness({
      variables: { PATH: '/usr/bin:/bin', HOME: '/home/eph', EPHD_SECRET: 'do not tell' },
    });
    process.env.EPHD_SECRET = 'do not tell';
    const wanted = harness.component('web', 1, {
      command: run('answer.mjs'),
      env: { COLOUR: 'red' },
      ready: { kind: 'http', path: '/' },
    });
    await harness.provider.ensure(identity, wanted, never);
    const seen = await harness.untilReady(wanted);
    const variables = await fetchVariables(seen);
    const home = harness.isSandboxed ? '/home/app' : '/home/eph';
    expect(variables).toMatchObject({ COLOUR: 'red', HOME: home, PORT: seen.outputs.port });
    expect(variables).not.toHaveProperty('EPHD_SECRET');
    expect(seen.outputs).toEqual({ url: `http://127.0.0.1:${seen.outputs.port}`, host: '127.0.0.1', port: variables.PORT });
  });

  it('may be a line for the shell, in a folder of the checkout', async () => {
    await using harness = new ProcessHarness();
    const command = `test "$(basename "$PWD")" = inside && exec '${process.execPath}' ../answer.mjs`;
    const wanted = harness.component('web', 1, { command, directory: 'inside' });
    await harness.provider.ensure(identity, wanted, never);
    expect(await harness.untilReady(wanted)).toMatchObject({ current: { health: 'ready' } });
  });

  it('without a probe is ready once it has lived for a moment, and one that cannot start never is', async () => {
    await using harness = new ProcessHarness();
    const worker = harness.component('worker', 1, { command: run('idle.mjs'), ready: { kind: 'none' } });
    const broken = harness.component('broken', 1, { command: ['no-such-program'], ready: { kind: 'none' } });
    await harness.provider.ensure(identity, broken, never);
    await harness.provider.ensure(identity, worker, never);
    await harness.untilReady(worker);
    await until('the broken one failed', async () => (await harness.observe('broken'))?.next?.health === 'failing');
    const { current, next } = (await harness.observe('broken')) ?? {};
    expect(current).toBeNull();
    expect(next?.message).toMatch(/code (127|1)\..*no-such-program/);
  });

  it('is started again when it ends, at the same address, and says why meanwhile', async () => {
    await using harness = new ProcessHarness({ limits: { restartFirstMs: 500 } });
    const wanted = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, wanted, never);
    const before = await harness.untilReady(wanted);
    const old = await processOf(harness);
    process.kill(old, 'SIGKILL');
    await until('the end was noticed', async () => (await harness.observe('web'))?.current?.health === 'failing');
    expect((await harness.observe('web'))?.current?.message).toBe('It was ended by SIGKILL. Its last line was: started');
    const after = await harness.untilReady(wanted);
    expect(after.outputs).toEqual(before.outputs);
    expect(await processOf(harness)).not.toBe(old);
  });

  it('that keeps ending is started less and less often', async () => {
    await using harness = new ProcessHarness({ limits: { restartFirstMs: 50, restartMaxMs: 60_000 } });
    const wanted = harness.component('web', 1, { command: 'echo start; exit 3' });
    await harness.provider.ensure(identity, wanted, never);
    const starts = async (): Promise<number> =>
      (await Array.fromAsync(harness.provider.logs(identity.id, wanted.name, { tail: 1000, follow: false, signal: never })))
        .length;
    await until('it was started some times', async () => (await starts()) >= 4);
    // With 50 ms doubling, sixteen starts would take more than half an hour.
    expect(await starts()).toBeLessThan(16);
    expect((await harness.observe('web'))?.next).toMatchObject({
      health: 'failing',
      message: 'It exited with code 3. Its last line was: start',
    });
  });

  it('moves to another port when somebody took its own', async () => {
    await using harness = new ProcessHarness({ limits: { restartFirstMs: 1_000 } });
    const wanted = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, wanted, never);
    const { outputs } = await harness.untilReady(wanted);
    process.kill(await processOf(harness), 'SIGKILL');
    const stranger = createServer();
    await until('the stranger has the port', async () => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      stranger.once('error', () => resolve(false)).listen(Number(outputs.port), '127.0.0.1', () => resolve(true));
      return promise;
    });
    await until('it has moved', async () => (await harness.observe('web'))?.outputs.port !== outputs.port);
    const moved = await harness.untilReady(wanted);
    expect(await fetchVariables(moved)).toMatchObject({ PORT: moved.outputs.port });
    stranger.close();
    await once(stranger, 'close');
  });

  it('is never given a port on which somebody listens', async () => {
    const stranger = createServer().listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    const { port } = stranger.address() as { port: number };
    await using harness = new ProcessHarness({ limits: { ports: { first: port, last: port } } });
    const wanted = harness.component('web', 1, { command: run('answer.mjs') });
    await expect(harness.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'port.unavailable' });
    stranger.close();
    await once(stranger, 'close');
    await harness.provider.ensure(identity, wanted, never);
    expect((await harness.untilReady(wanted)).outputs.port).toBe(String(port));
  });

  it('that stops answering is failing until it answers again', async () => {
    await using harness = new ProcessHarness({ limits: { checkMs: 100, probeTimeoutMs: 200 } });
    const wanted = harness.component('web', 1, { command: run('answer.mjs'), ready: { kind: 'http', path: '/' } });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const pid = await processOf(harness);
    process.kill(pid, 'SIGSTOP');
    await until('its silence was noticed', async () => (await harness.observe('web'))?.current?.health === 'failing');
    expect((await harness.observe('web'))?.current?.message).toContain('does not answer any more');
    process.kill(pid, 'SIGCONT');
    await harness.untilReady(wanted);
    expect(await processOf(harness)).toBe(pid);
  });

  it('that answers with an error is not ready, and the message says so', async () => {
    await using harness = new ProcessHarness();
    const script = `require('node:http').createServer((_, r) => r.writeHead(503).end()).listen(process.env.PORT, '127.0.0.1')`;
    const wanted = harness.component('web', 1, {
      command: [process.execPath, '-e', script],
      ready: { kind: 'http', path: '/health?x=1' },
      readyTimeoutSeconds: 0.5,
    });
    await harness.provider.ensure(identity, wanted, never);
    await until('it says 503', async () => (await harness.observe('web'))?.next?.message.includes('answered 503') === true);
    expect((await harness.observe('web'))?.current).toBeNull();
  });

  it('keeps answering while an update never gets ready', async () => {
    await using harness = new ProcessHarness();
    const old = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, old, never);
    await harness.untilReady(old);
    await harness.provider.ensure(
      identity,
      harness.component('web', 2, { command: run('idle.mjs'), readyTimeoutSeconds: 0.3 }),
      never,
    );
    await until('the update failed', async () => (await harness.observe('web'))?.next?.health === 'failing');
    const seen = await harness.observe('web');
    expect(await fetchVariables(seen)).toMatchObject({ PORT: seen?.outputs.port });
    expect(seen?.next?.message).toMatch(
      /not ready after 0\.3 s: port \d+: nothing listens on 127\.0\.0\.1\. Does it listen on the port in PORT/,
    );
  });

  it('has its processor time and memory measured', async () => {
    await using harness = new ProcessHarness();
    const wanted = harness.component('web', 1, { command: run('answer.mjs') });
    await harness.provider.ensure(identity, wanted, never);
    await harness.untilReady(wanted);
    const usage = (await harness.provider.usage(identity.id, never)).get(wanted.name);
    expect(usage?.memoryBytes).toBeGreaterThan(1_000_000);
    expect(usage?.cpuSeconds).toBeGreaterThan(0);
  });

  it('refuses a folder outside the repository', async () => {
    await using harness = new ProcessHarness();
    for (const directory of ['..', '/etc', 'inside/../../elsewhere', 'no-such-folder', 'answer.mjs']) {
      const wanted = harness.component('web', 1, { command: run('answer.mjs'), directory });
      await expect(harness.provider.ensure(identity, wanted, never), directory).rejects.toMatchObject({
        code: 'component.refused',
      });
    }
    expect(await harness.running()).toEqual([]);
  });

  it('refuses what the system could not run', async () => {
    await using harness = new ProcessHarness();
    const bad = [
      { command: 'a\0b' },
      { env: { 'A B': '' } },
      { env: { A: '\0' } },
      { ready: { kind: 'http', path: '/a b' } },
      { extra: 1 },
    ];
    for (const values of bad) {
      const wanted = harness.component('web', 1, { command: run('answer.mjs'), ...values });
      await expect(harness.provider.ensure(identity, wanted, never)).rejects.toMatchObject({ code: 'component.refused' });
    }
    expect((await harness.provider.list({ all: true }, never)).items).toEqual([]);
  });
});
