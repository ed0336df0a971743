import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const program = fileURLToPath(new URL('kill-loop.program.ts', import.meta.url));
const kills = 8;

/** Runs the program and kills it after a while. */
const runAndKill = async (folder: string, firstVersion: number, afterMs: number): Promise<void> => {
  const child = spawn(process.execPath, [program, folder, String(firstVersion)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  await once(child, 'close');
};

const instancesRunning = async (harness: ProcessHarness): Promise<string[]> =>
  (await harness.leaders()).map(({ marker }) => marker ?? '');

describe('a provider that is killed', () => {
  it('at any moment leaves nothing that the next one does not find, and starts nothing twice', {
    timeout: 120_000,
  }, async () => {
    await using harness = new ProcessHarness();
    for (let kill = 1; kill <= kills; kill += 1) {
      await runAndKill(harness.folder, kill * 1_000, 5 + Math.random() * 300);
      const running = await instancesRunning(harness);
      expect(new Set(running).size, 'one process per instance').toBe(running.length);
      await harness.restart();
      expect(await harness.provider.list({ all: true }, never)).toMatchObject({ complete: true, faults: [] });
      const wanted = harness.component('web', kill, { command: run('answer.mjs') });
      await harness.provider.ensure(identity, wanted, never);
      await harness.untilReady(wanted);
      await harness.provider.ensure(identity, wanted, never);
      await until('only the wanted version runs', async () => (await instancesRunning(harness)).length === 1);
      expect(await harness.observe('web')).toMatchObject({ current: { revision: wanted.revision }, next: null, retiring: false });
      await harness.provider[Symbol.asyncDispose]();
    }
    await harness.restart();
  });
});
