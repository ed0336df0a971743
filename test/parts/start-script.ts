import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';

export interface ScriptProcess {
  readonly pid: number | undefined;
  /** Its output so far. */
  readonly lines: readonly string[];
  /** Waits until it prints a line that matches, and returns it. */
  line(pattern: RegExp): Promise<string>;
  send(line: string): void;
  /** Kills it with SIGKILL and waits for its end. */
  kill(): Promise<void>;
}

/** Runs JavaScript in a separate process, which is killed at the end of the test at the latest. */
export const startScript = (source: string): ScriptProcess => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['pipe', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestFinished(kill);
  const line = async (pattern: RegExp): Promise<string> => {
    const find = (): string | undefined => lines.find((each) => pattern.test(each));
    await expect.poll(find, { timeout: 60_000, message: `a line like ${pattern}` }).toBeDefined();
    return find() ?? '';
  };
  return { pid: child.pid, lines, line, kill, send: (text) => void child.stdin.write(`${text}\n`) };
};
