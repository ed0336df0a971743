import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning } from './processes.ts';
import { parseTable } from './processes-darwin.ts';
import { parseStat } from './processes-linux.ts';
import { createProcesses } from './this-machine.ts';

const sleeper = (env: Record<string, string> = {}): number => {
  const child = spawn('sleep', ['1000'], { env: { PATH: process.env.PATH, ...env }, detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error('sleep did not start');
  return child.pid;
};

describe('the processes of this machine', () => {
  it('are told apart by pid, start time and boot', () => {
    const processes = createProcesses();
    const startTime = processes.readStartTime(process.pid) ?? '';
    const self = { pid: process.pid, startTime, bootId: processes.bootId };
    expect(isRunning(processes, self)).toBe(true);
    expect(isRunning(processes, { ...self, startTime: '1' })).toBe(false);
    expect(isRunning(processes, { ...self, bootId: 'before the power failed' })).toBe(false);
  });

  it('are no longer there when they have ended', async () => {
    const processes = createProcesses();
    const child = spawn('true');
    const { pid = 0 } = child;
    await once(child, 'exit');
    expect(processes.readStartTime(pid)).toBeUndefined();
  });

  it('are all read with marker, session, memory and CPU time', async () => {
    const pid = sleeper({ FIRST: '1', EPH_INSTANCE: 'digest/a/b/c', LAST: '2' });
    const all = await createProcesses().readAll();
    expect(all.find((one) => one.pid === pid)).toMatchObject({ marker: 'digest/a/b/c', session: pid, group: pid });
    const self = all.find((one) => one.pid === process.pid);
    expect(self?.marker).toBeUndefined();
    expect(self?.cpuSeconds).toBeGreaterThan(0);
    const { rss } = process.memoryUsage();
    expect(self?.memoryBytes).toBeGreaterThan(rss / 3);
    expect(self?.memoryBytes).toBeLessThan(rss * 3);
  });

  it('are read once for everybody who asks at the same time, and never from before the question', async () => {
    const processes = createProcesses();
    const early = processes.readAll();
    const [one, two] = [processes.readAll(), processes.readAll()];
    expect(await one).toBe(await two);
    await early;
    const pid = sleeper();
    expect((await processes.readAll()).some((process) => process.pid === pid)).toBe(true);
  });
});

describe('a line of /proc/<pid>/stat', () => {
  const rest = '1 42 43 0 -1 4194304 10 20 0 0 7 8 9 10 20 0 1 0 123456 1000000 250 18446744073709551615';

  it('is understood whatever the program calls itself', () => {
    expect(parseStat(`7 (evil) Z 1 (x) S ${rest}`)).toEqual({
      parent: 1,
      group: 42,
      session: 43,
      startTime: '123456',
      cpuTicks: 34,
      residentPages: 250,
    });
  });

  it('of a process that has ended but was not collected is not one of a running process', () => {
    expect(parseStat(`7 (gone) Z ${rest}`)).toBeUndefined();
    expect(parseStat(`7 (going) Z ${rest.replace('20 0 1 0', '20 0 3 0')}`)).toBeDefined();
  });
});

describe('the table that ps prints on macOS', () => {
  it('is understood, with the marker among the variables', () => {
    const table = [
      '  501   501      0 Ss   Sun Nov 15 08:49:01 2026       0:01.50  2048 node server.js PATH=/bin EPH_INSTANCE=digest/a/b/c HOME=/x',
      '  502   501      0 Z    Sun Nov 15 08:49:01 2026       0:00.00     0 (node)',
      '  503   503      0 S+   Mon Nov  2 18:00:00 2026  1-02:03:04.00    10 sleep 1000',
    ].join('\n');
    expect(parseTable(table)).toEqual([
      {
        pid: 501,
        group: 501,
        session: 501,
        isInside: false,
        startTime: 'Sun Nov 15 08:49:01 2026',
        marker: 'digest/a/b/c',
        cpuSeconds: 1.5,
        memoryBytes: 2_097_152,
      },
      {
        pid: 503,
        group: 503,
        session: 503,
        isInside: false,
        startTime: 'Mon Nov 2 18:00:00 2026',
        marker: undefined,
        cpuSeconds: 93_784,
        memoryBytes: 10_240,
      },
    ]);
  });
});
