import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app } from './sample-app.ts';

const mount = (folder: string): Disposable => {
  execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', folder], { stdio: 'pipe' });
  return { [Symbol.dispose]: () => void execFileSync('/bin/umount', ['--lazy', folder], { stdio: 'pipe' }) };
};

const whyNot = (): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-mount-'));
  try {
    mount(folder)[Symbol.dispose]();
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n').at(-2) ?? error.message) : String(error);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Fills the rest of the disk. */
const fill = (file: string): void => {
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) appendFileSync(file, Buffer.alloc(bytes));
    } catch {
      // The disk is full for writes of this size.
    }
  }
};

const obstacle = whyNot();

describe.skipIf(obstacle !== undefined)(
  `a full disk${obstacle === undefined ? '' : ` [skipped, a small file system cannot be mounted: ${obstacle}]`}`,
  () => {
    it('sets a condition, does not affect what runs, and clears once there is space again', {
      timeout: 120_000,
    }, async () => {
      await using harness = await EphdHarness.create();
      mkdirSync(harness.dataFolder);
      using _disk = mount(harness.dataFolder);
      // Services are found through the data folder, so they must be stopped before it is removed.
      await using _services = { [Symbol.asyncDispose]: () => harness.halt() };
      const ephd = await harness.start();
      const first = await harness.repository.push('preview/one', app());
      const { name } = await harness.untilReady('preview/one', first);
      const [before] = harness.services();

      const filler = join(harness.dataFolder, 'filler');
      writeFileSync(filler, '');
      fill(filler);
      const second = await harness.repository.push('preview/two', app());
      const full = await harness.until('preview/two', 'says that the disk is full', (one) => /space|full/i.test(one.summary));
      expect(full.phase).not.toBe('Ready');
      const third = await harness.repository.push('preview/one', app());
      await harness.until('preview/one', 'says that the disk is full', (one) => /space|full/i.test(one.summary));
      expect(JSON.parse((await harness.visit(name)).body)).toMatchObject({ commit: first, pid: before?.pid });

      // A restart on the full disk finds the running services.
      await ephd.kill();
      await harness.start();
      await eventually('the gateway finds it again', async () => (await harness.visit(name)).status === 200);
      expect(harness.services().map((one) => one.pid)).toEqual([before?.pid]);

      rmSync(filler);
      await harness.untilReady('preview/two', second, 60);
      await harness.untilReady('preview/one', third, 60);
      await harness.repository.delete('preview/one', 'preview/two');
      await Promise.all([harness.untilGone('preview/one'), harness.untilGone('preview/two')]);
      expect(harness.services()).toEqual([]);
    });
  },
);
