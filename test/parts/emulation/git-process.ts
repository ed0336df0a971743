import { spawn } from 'node:child_process';

export interface GitResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs Git isolated from the configuration of the developer. An exit code is a result; throws only if Git cannot start. */
export const runGit = (args: readonly string[], home: string, input: string | Uint8Array = ''): Promise<GitResult> =>
  new Promise((resolve, reject) => {
    const child = spawn('git', ['-c', 'core.hooksPath=/dev/null', '-c', 'gc.auto=0', ...args], {
      cwd: home,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_OPTIONAL_LOCKS: '0',
      },
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code: code ?? -1, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() });
    });
    // If Git exits early, its exit status carries the error.
    child.stdin.on('error', () => undefined).end(input);
  });
