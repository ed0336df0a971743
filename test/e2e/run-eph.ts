import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { EphdHarness } from './ephd-harness.ts';

const main = join(import.meta.dirname, '../../apps/eph/main.ts');

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A real `eph` in a separate process; once `until` accepts its output, it is interrupted as Ctrl-C would. */
export const runEph = async (
  harness: EphdHarness,
  args: readonly string[],
  until?: (out: string) => boolean,
  variables = {},
  input = '',
  cwd = harness.folder,
): Promise<Outcome> => {
  const env = {
    PATH: process.env['PATH'],
    HOME: harness.folder,
    XDG_STATE_HOME: harness.stateFolder,
    EPH_SERVER: `http://127.0.0.1:${harness.apiPort}`,
    ...variables,
  };
  const child = spawn(process.execPath, [main, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  // A command that reads nothing may end before it is written.
  child.stdin.on('error', () => undefined).end(input);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    if (until?.(out) !== true) return;
    until = undefined; // A second Ctrl-C would end it immediately.
    child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
};
