import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Surroundings {
  readonly folder?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs a long command, passes on every line it prints, and returns its exit status. */
export const runWithProgress = (
  command: string,
  args: readonly string[],
  { folder, env }: Surroundings,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env, signal, killSignal: 'SIGINT' });
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', progress);
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
