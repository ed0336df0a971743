import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { PassThrough } from 'node:stream';
import { EphError } from '@eph/contract';
import type { ExecRequest, ExecSession } from './provider.ts';

const tag = 'EPH_FAKE_SESSION';

const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** Runs a command of a test on this machine, which has to be Linux for a terminal. */
export const startFakeSession = async ({ command, terminal, signal }: ExecRequest, life: AbortSignal): Promise<ExecSession> => {
  signal.throwIfAborted();
  if (command.length === 0) throw new EphError('api.bad_request', 'A command needs a program.');
  const id = `${tag}=${randomUUID()}`;
  const words = command.map(quote).join(' ');
  const inner = terminal && `tty >&3; stty rows ${terminal.rows} columns ${terminal.columns}; exec ${words} 3<&-`;
  const script = inner === undefined ? `exec ${words} 3<&-` : `exec script -qefE always -c ${quote(inner)} /dev/null`;
  const child = spawn('/bin/sh', ['-c', script], {
    env: { PATH: process.env.PATH, [tag]: id.slice(tag.length + 1), ...(terminal && { TERM: terminal.type }) },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const { stdin: input } = child;
  input.on('error', () => undefined);
  // When a process exits, Node throws away the output that nobody has read.
  const [output, errors] = [child.stdout.pipe(new PassThrough()), child.stderr.pipe(new PassThrough())];
  const ending = AbortSignal.any([signal, life]);
  ending.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  const exited = new Promise<number>((resolve) =>
    child.once('exit', (code, name) => {
      endTagged(id);
      resolve(code ?? 128 + constants.signals[name ?? 'SIGKILL']);
    }),
  );
  signal.addEventListener('abort', () => [input, output, errors].forEach((one) => one.destroy()), { once: true });
  const name = terminal && (await readLine(child));
  const resize = (columns: number, rows: number): void => {
    if (name !== undefined) spawnSync('stty', ['-F', name, 'rows', String(rows), 'columns', String(columns)]);
  };
  return { input, output, errors, resize, exited };
};

const readLine = async ({ stdio }: ChildProcess): Promise<string | undefined> => {
  const pipe = stdio[3];
  if (pipe === null || pipe === undefined) return undefined;
  const [line] = (await once(pipe, 'data')) as [Buffer];
  return String(line).trim();
};

const endTagged = (id: string): void => {
  if (process.platform !== 'linux') return;
  const tagged = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && readVariables(pid).includes(id));
  for (const pid of tagged) process.kill(Number(pid), 'SIGKILL');
  if (tagged.length > 0) endTagged(id);
};

const readVariables = (pid: string): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    // It has ended, or is of somebody else.
    return [];
  }
};
