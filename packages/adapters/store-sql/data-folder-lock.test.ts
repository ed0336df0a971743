import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type ScriptProcess, startScript } from '../../../test/parts/start-script.ts';
import { lockDataFolder } from './data-folder-lock.ts';

vi.setConfig({ testTimeout: 120_000 });

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-data-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/** A process that locks the folder when told to, and keeps it until it ends. */
const startOther = (folder: string, whenLocked = ''): ScriptProcess =>
  startScript(`
    import { lockDataFolder } from ${JSON.stringify(join(import.meta.dirname, 'data-folder-lock.ts'))};
    import { spawn } from 'node:child_process';
    console.log('ready');
    process.stdin.once('data', () => {
      try {
        globalThis.lock = lockDataFolder(${JSON.stringify(folder)}, 'ephd-' + process.pid);
        ${whenLocked}
        console.log('locked');
      } catch (error) {
        console.log('refused ' + error.code + ' ' + error.message);
      }
    });`);

const startLocked = async (folder: string, whenLocked = ''): Promise<ScriptProcess> => {
  const other = startOther(folder, whenLocked);
  await other.line(/^ready/);
  other.send('go');
  await other.line(/^locked/);
  return other;
};

describe('the lock of a data folder', () => {
  it('is had by one, who says who it is', async () => {
    const folder = await createFolder();
    const lock = lockDataFolder(folder, 'ephd-one', () => Date.parse('2026-01-05T09:00:00Z'));
    expect(() => lockDataFolder(folder, 'ephd-two')).toThrow(
      `data folder ${folder} is in use by ephd ephd-one (pid ${process.pid}) since 2026-01-05T09:00:00.000Z; stop it or choose another --data`,
    );
    lock[Symbol.dispose]();
    lock[Symbol.dispose]();
    lockDataFolder(folder, 'ephd-two')[Symbol.dispose]();
  });

  it('is refused with a code while another process has it', async () => {
    const folder = await createFolder();
    const other = await startLocked(folder);
    const attempt = (): unknown => lockDataFolder(folder, 'me');
    expect(attempt).toThrow(expect.objectContaining({ code: 'lease.held' }));
    expect(attempt).toThrow(new RegExp(`in use by ephd ephd-${other.pid} \\(pid ${other.pid}\\) since \\d{4}-`));
  });

  it('is free again when its process is killed, and the next one is named', async () => {
    const folder = await createFolder();
    const other = await startLocked(folder);
    await other.kill();
    using _lock = lockDataFolder(folder, 'next');
    expect(readFileSync(join(folder, 'ephd.json'), 'utf8')).toContain(`"pid":${process.pid},"holder":"next"`);
  });

  it('is not kept by the services that its process started', async () => {
    const folder = await createFolder();
    const other = await startLocked(
      folder,
      `console.log('service ' + spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).pid);`,
    );
    const service = Number((await other.line(/^service /)).split(' ')[1]);
    onTestFinished(() => void process.kill(service));
    await other.kill();
    expect(() => lockDataFolder(folder, 'next')[Symbol.dispose]()).not.toThrow();
  });

  it('goes to exactly one of twenty that start at once', async () => {
    const folder = await createFolder();
    const others = Array.from({ length: 20 }, () => startOther(folder));
    await Promise.all(others.map((other) => other.line(/^ready/)));
    for (const other of others) other.send('go');
    const answers = await Promise.all(others.map((other) => other.line(/^(locked|refused)/)));
    expect(answers.filter((answer) => answer === 'locked')).toHaveLength(1);
    expect(answers.filter((answer) => answer.startsWith('refused lease.held data folder'))).toHaveLength(19);
  });

  it('says what is wrong with a folder that cannot be used', async () => {
    const folder = join(await createFolder(), 'missing');
    expect(() => lockDataFolder(folder, 'me')).toThrow(`data folder ${folder} cannot be used: unable to open database file`);
  });
});
