import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { GitRequest } from './git-request.ts';
import type { Answer, Received } from './loopback-server.ts';

/** Forges serve every commit they have, whether or not a ref names it. */
const fetching = ['uploadpack.allowAnySHA1InWant=true', 'uploadpack.allowFilter=true'];

/** Refuses before any ref moves, all refs of a push together. */
const preReceive = `#!/bin/sh
[ -z "$REFUSED" ] || { echo "$REFUSED" >&2; exit 1; }
`;

export interface BackendRequest {
  readonly request: Pick<Received, 'headers' | 'body'>;
  readonly git: GitRequest;
  /** Why a push is refused. */
  readonly refused?: string | undefined;
}

/** Git's own program for Git over HTTP. */
export class GitBackend {
  readonly #folder: string;
  readonly #settings: readonly string[];
  #hooks: Promise<string> | undefined;

  /** `settings` are configuration such as `http.receivepack=true`. */
  constructor(folder: string, settings: readonly string[]) {
    this.#folder = folder;
    this.#settings = [...fetching, ...settings];
  }

  async run(repository: string, { request, git, refused = '' }: BackendRequest): Promise<Answer> {
    this.#hooks ??= writeHooks(join(this.#folder, 'hooks'));
    const hooks = await this.#hooks;
    const { headers, body } = request;
    const options = [...this.#settings, `core.hooksPath=${hooks}`].flatMap((setting) => ['-c', setting]);
    const backend = spawn('git', [...options, 'http-backend'], {
      cwd: this.#folder,
      env: {
        PATH: process.env['PATH'],
        HOME: this.#folder,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROJECT_ROOT: dirname(repository),
        GIT_PROTOCOL: headers['git-protocol'] ?? '',
        PATH_INFO: `/${basename(repository)}${git.service}`,
        QUERY_STRING: git.query,
        REQUEST_METHOD: git.method,
        CONTENT_TYPE: headers['content-type'] ?? '',
        CONTENT_LENGTH: String(body.length),
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        REFUSED: refused,
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const output: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    // If Git exits early, its output carries the error.
    backend.stdin.on('error', () => undefined).end(body);
    await once(backend, 'close');
    return parseCgi(Buffer.concat(output));
  }
}

const writeHooks = async (folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'pre-receive'), preReceive, { mode: 0o755 });
  return folder;
};

const parseCgi = (output: Buffer): Answer => {
  const end = output.indexOf('\r\n\r\n');
  const fields = output
    .toString('latin1', 0, Math.max(end, 0))
    .split('\r\n')
    .map((line): [string, string] => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]);
  const { status = end === -1 ? '500' : '200', ...headers } = Object.fromEntries(fields.filter(([name]) => name !== ''));
  return { status: Number.parseInt(status, 10), headers, body: output.subarray(end + 4) };
};
