import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Launched, launch } from './launch.ts';
import { until } from './process-harness.fake.ts';
import { isRunning, type ProcessIdentity } from './processes.ts';
import { createProcesses } from './this-machine.ts';

const processes = createProcesses();

const start = (
  words: readonly string[],
  record: (identity: ProcessIdentity, folder: string) => void,
  limits: readonly string[] = [],
): { folder: string; launched: Promise<Launched> } => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'eph-launch-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = openSync(join(folder, 'log'), 'a');
  const variables = { PATH: process.env.PATH ?? '', GREETING: 'hello world' };
  const launched = launch(
    { command: { script: 'exec "$@"', words, folder, variables, input: undefined }, log, limits },
    processes,
    (identity) => record(identity, folder),
  );
  closeSync(log);
  return { folder, launched };
};

describe('launching', () => {
  it('runs the command only after its process was recorded', async () => {
    let recorded: ProcessIdentity | undefined;
    const { folder, launched } = start(['sh', '-c', 'echo "$GREETING" > ran; pwd'], (identity, where) => {
      recorded = identity;
      expect(isRunning(processes, identity)).toBe(true);
      expect(existsSync(join(where, 'ran'))).toBe(false);
    });
    expect(recorded).toBeDefined();
    const { child, identity } = await launched;
    await once(child, 'exit');
    expect(identity).toEqual(recorded);
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('hello world\n');
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe(`${folder}\n`);
  });

  it('never runs a command whose process could not be recorded', async () => {
    let seen: ProcessIdentity | undefined;
    const { folder, launched } = start(['touch', 'ran'], (identity) => {
      seen = identity;
      throw new Error('disk full');
    });
    await expect(launched).rejects.toThrow('disk full');
    await until('the process is gone', () => seen !== undefined && !isRunning(processes, seen));
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('gives the command no shell that it did not ask for, and no open pipe', async () => {
    const script = 'echo "$1"; if [ -S /dev/fd/3 ]; then echo pipe; else echo none; fi';
    const { folder, launched } = start(['sh', '-c', script, 'sh', '$(id) ; `id`'], () => undefined);
    await once((await launched).child, 'exit');
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('$(id) ; `id`\nnone\n');
  });

  it('runs no command that it cannot limit, and says why', async () => {
    const { folder, launched } = start(['touch', 'ran'], () => undefined, ["/nowhere/it's/tasks"]);
    const [code] = (await once((await launched).child, 'exit')) as [number];
    expect(code).not.toBe(0);
    expect(readFileSync(join(folder, 'log'), 'utf8')).toContain("/nowhere/it's/tasks");
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('leads a session of its own, so that it survives ephd and its terminal', async () => {
    const { launched } = start(['sleep', '1000'], () => undefined);
    const { child, identity } = await launched;
    const found = (await processes.readAll()).find(({ pid }) => pid === identity.pid);
    child.kill('SIGKILL');
    expect(found).toMatchObject({ group: identity.pid, session: identity.pid });
  });

  it('says why a process could not be made', async () => {
    const log = openSync('/dev/null', 'a');
    const command = { script: 'exec "$@"', words: ['true'], folder: '/nonexistent', variables: {}, input: undefined };
    const launched = launch({ command, log, limits: [] }, processes, () => undefined);
    closeSync(log);
    await expect(launched).rejects.toMatchObject({ code: 'provider.unreachable' });
  });
});
