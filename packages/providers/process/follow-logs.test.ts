import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { followLogs } from './follow-logs.ts';
import { LogFile } from './log-file.ts';

it('reads a long log in pieces, so that ephd answers others meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = new LogFile(join(folder, 'log'), Date.now);
  appendFileSync(log.path, 'a line of forty characters, more or less\n'.repeat(100_000));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  onTestFinished(() => clearImmediate(timer));
  const { signal } = new AbortController();
  const lines = followLogs(() => [{ part: 'web', log }], { tail: 100_000, follow: false, signal });
  expect((await lines.next()).done).toBe(false);
  expect(turns).toBeGreaterThan(50);
});
