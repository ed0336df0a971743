import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Answer, Received } from '../../emulation/loopback-server.ts';

/** The Git configuration of Gitaly. */
const settings = [
  'http.receivepack=true',
  'uploadpack.allowAnySHA1InWant=true',
  'uploadpack.allowFilter=true',
  'receive.hideRefs=refs/merge-requests',
  'receive.autogc=false',
];

/** As GitLab refuses: before any ref moves, all refs of a push together. */
const preReceive = `#!/bin/sh
[ -z "$REFUSED" ] || { echo "GitLab: $REFUSED" >&2; exit 1; }
`;

export interface BackendRequest {
  readonly request: Received;
  /** `/info/refs`, `/git-upload-pack` or `/git-receive-pack`. */
  readonly service: string;
  /** Why a push is refused. */
  readonly refused?: string | undefined;
}

/** Git's own program for Git over HTTP. */
export class GitBackend {
  readonly #folder: string;
  #hooks: Promise<string> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async run(repository: string, { request, service, refused = '' }: BackendRequest): Promise<Answer> {
    this.#hooks ??= writeHooks(join(this.#folder, 'hooks'));
    const hooks = await this.#hooks;
    const { method, target, headers, body } = request;
    const options = [...settings, `core.hooksPath=${hooks}`].flatMap((setting) => ['-c', setting]);
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
        PATH_INFO: `/${basename(repository)}${service}`,
        QUERY_STRING: target.split('?')[1] ?? '',
        REQUEST_METHOD: method,
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
