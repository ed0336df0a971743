import { execFile } from 'node:child_process';
import { EphError, parseJson } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { z } from 'zod';
import type { Credentials } from './docker-config.ts';
import { TimeLimitError, withTimeLimit } from './time-limit.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const timeoutMs = 15_000;
const limitBytes = 64 * 1024;
const nameForm = /^[\w.-]+$/;

/** A user name that stands for a token. */
const tokenUser = '<token>';

const shape = z.object({ Username: z.string(), Secret: z.string().min(1) });

/**
 * Asks `docker-credential-<name>` for the credentials of a server. Undefined if it has none. Nothing that it prints is shown, and
 * what it returns is not registered as a secret: clouds return another one every hour, and none would ever be forgotten.
 */
export const readFromHelper = async (
  { name, server }: { readonly name: string; readonly server: string },
  environment: Environment,
  clock: Clock,
  signal: AbortSignal,
): Promise<Credentials | undefined> => {
  if (!nameForm.test(name))
    throw new EphError('registry.refused', `${JSON.stringify(name)} is not the name of a program that has credentials.`);
  const program = `docker-credential-${name}`;
  const { code, output } = await withTimeLimit(clock, timeoutMs, signal, async (limited) => {
    const outcome = await run(program, server, environment, limited);
    limited.throwIfAborted();
    return outcome;
  }).catch((error: unknown) => {
    throw error instanceof TimeLimitError ? failed(program, server, `did not answer within ${timeoutMs / 1_000} s`) : error;
  });
  if (code === 'ENOENT') throw new EphError('registry.refused', `The program ${program} is not installed where ephd runs.`);
  if (code !== undefined && /credentials not found/i.test(output)) return undefined;
  const { data } = shape.safeParse(code === undefined ? parseJson(output) : undefined);
  if (data === undefined) throw failed(program, server, 'failed');
  const { Username: username, Secret: secret } = data;
  return username === tokenUser ? { type: 'identity', token: secret } : { type: 'password', username, password: secret };
};

const failed = (program: string, server: string, why: string): EphError =>
  new EphError('registry.unreachable', `The program ${program}, which has the credentials of ${server}, ${why}.`);

/** The code is undefined after success. */
const run = (
  program: string,
  input: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<{ readonly code: string | number | undefined; readonly output: string }> =>
  new Promise((resolve) => {
    const options = { env: { ...environment }, maxBuffer: limitBytes, killSignal: 'SIGKILL', signal } as const;
    const child = execFile(program, ['get'], options, (error, stdout) =>
      resolve({ code: error === null ? undefined : (error.code ?? 'failed'), output: stdout }),
    );
    // A program that does not read its input has ended, and its status says why.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
