import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type EnvironmentView, environmentListSchema } from '@eph/contract';
import { readAuthorization } from '../e2e/ephd-client.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const memory = '/dev/shm';

/**
 * A temporary folder for a bare repository and the configuration of an ephd. In memory where possible: a new folder on a disk may cost
 * milliseconds, which differ from run to run and say nothing about Eph.
 */
export class BenchFolder implements Disposable {
  readonly folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'eph-bench-'));
  readonly origin = join(this.folder, 'shop.git');
  readonly config = join(this.folder, 'ephd.yaml');
  /** The state folder of ephd is here too. */
  readonly env: NodeJS.ProcessEnv & { readonly XDG_STATE_HOME: string } = {
    ...process.env,
    XDG_STATE_HOME: join(this.folder, 'state'),
    XDG_CACHE_HOME: join(this.folder, 'cache'),
  };

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
  /** Of the token in the file. */
  readonly headers: { readonly authorization?: string };
  readonly gatewayPort: number;
  readonly child: ChildProcess;
  metrics(): Promise<string>;
  environments(): Promise<readonly EnvironmentView[]>;
  stop(): Promise<void>;
}

export const startEphd = async ({ env }: Pick<BenchFolder, 'env'>, args: readonly string[]): Promise<RunningEphd> => {
  const child = spawn(process.execPath, ['apps/ephd/start.js', ...args], {
    cwd: root,
    env,
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
  const headers = { ...readAuthorization(env.XDG_STATE_HOME, Number(new URL(up.api).port)) };
  return {
    apiUrl: up.api,
    headers,
    gatewayPort: up.gatewayPort,
    child,
    async metrics() {
      return (await fetch(`${up.api}/metrics`, { headers })).text();
    },
    async environments() {
      const response = await fetch(`${up.api}/api/v1/environments?limit=1000`, { headers });
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
