import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type EnvironmentView, environmentListSchema } from '@eph/contract';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A temporary folder for a bare repository and the configuration of an ephd. */
export class BenchFolder implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'eph-bench-'));
  readonly origin = join(this.folder, 'shop.git');
  readonly config = join(this.folder, 'ephd.yaml');

  git(folder: string, args: readonly string[], input?: string): string {
    return execFileSync('git', ['-C', folder, ...args], {
      input,
      encoding: 'utf8',
      env: gitEnvironment,
      stdio: ['pipe', 'pipe', 'inherit'],
    }).trim();
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const gitEnvironment = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Bench',
  GIT_AUTHOR_EMAIL: 'bench@localhost',
  GIT_COMMITTER_NAME: 'Bench',
  GIT_COMMITTER_EMAIL: 'bench@localhost',
};

export interface RunningEphd {
  readonly apiUrl: string;
  readonly gatewayPort: number;
  readonly child: ChildProcess;
  environments(): Promise<readonly EnvironmentView[]>;
  stop(): Promise<void>;
}

export const startEphd = async (args: readonly string[], nodeArgs: readonly string[] = []): Promise<RunningEphd> => {
  const child = spawn(process.execPath, [...nodeArgs, 'apps/ephd/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const up = await new Promise<{ api: string; gatewayPort: number }>((resolve, reject) => {
    lines.on('line', (line) => {
      const entry = JSON.parse(line) as { msg: string; api: string; gatewayPort: number };
      if (entry.msg === 'ephd is up') resolve(entry);
    });
    child.once('exit', (code) => reject(new Error(`ephd exited with ${code}`)));
  });
  return {
    apiUrl: up.api,
    gatewayPort: up.gatewayPort,
    child,
    async environments() {
      const response = await fetch(`${up.api}/api/v1/environments`);
      return environmentListSchema.parse(await response.json()).environments;
    },
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
};

export const until = async (what: string, holds: () => Promise<boolean>, everyMs = 5): Promise<void> => {
  const deadline = Date.now() + 300_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen within five minutes`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
};
