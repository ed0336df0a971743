import type { IncomingHttpHeaders } from 'node:http';
import { dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { GitBackend } from '../../emulation/git-backend.ts';
import type { GitRequest } from '../../emulation/git-request.ts';
import type { Answer, Received } from '../../emulation/loopback-server.ts';
import { writeGitFolder } from '../git/git-folder.ts';
import type { Credentials } from '../state/credentials.ts';
import type { GithubState } from '../state/github-state.ts';
import { fullName, type Repository } from '../state/repository.ts';
import { maySee, type Viewer } from '../state/viewer.ts';
import { notFound, Problem } from './answer.ts';
import { authorize } from './authorization.ts';
import type { Reply } from './reply.ts';

/** Git over HTTP, without pushes: tokens as passwords with any user name. Nothing here counts against the rate limit. */
export class GitHttp {
  readonly #github: GithubState;
  readonly #credentials: Credentials;
  #backend: GitBackend | undefined;

  constructor(github: GithubState, credentials: Credentials) {
    this.#github = github;
    this.#credentials = credentials;
  }

  async answer(git: GitRequest, headers: IncomingHttpHeaders, body: Buffer): Promise<Reply> {
    const operation = operationOf(git);
    const unmetered = { modifiedAt: undefined, operation, budget: undefined, points: 0 };
    try {
      const repository = this.#admit(git, headers.authorization);
      const request = { headers: toText(headers), body };
      const answer = refuseUnknown(repository, request) ?? (await this.#run(repository, git, request));
      return { ...unmetered, ...answer, body: Buffer.from(answer.body) };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, message } = error;
      return { ...unmetered, status, headers: { 'content-type': 'text/plain', ...error.headers }, body: Buffer.from(message) };
    }
  }

  #run(repository: Repository, git: GitRequest, request: Pick<Received, 'headers' | 'body'>): Promise<Answer> {
    this.#backend ??= new GitBackend(dirname(this.#github.store.folder), []);
    return this.#backend.run(writeGitFolder(repository), { request, git });
  }

  #admit({ method, path, service, query }: GitRequest, authorization: string | undefined): Repository {
    const viewer = this.#credentials.recognise(authorization);
    if ('refused' in viewer) throw challenge();
    if (viewer.kind === 'installation' && viewer.installation.suspendedAt !== undefined)
      throw new Problem(403, 'This installation has been suspended');
    const [owner = '', name = ''] = path.split('/').map(decodeURIComponent);
    const present = this.#github.repository(owner, name);
    const repository = present ?? this.#github.movedRepository(owner, name);
    if (repository === undefined || !maySee(viewer, repository)) throw hidden(viewer);
    if (present === undefined) {
      const location = `${this.#github.urls.web}/${fullName(repository)}.git${service}${query === '' ? '' : `?${query}`}`;
      throw new Problem(method === 'GET' ? 301 : 307, '', undefined, { location });
    }
    authorize({ kind: 'repository', permissions: ['contents:read'], role: 'read' }, viewer, repository, true);
    return repository;
  }
}

/** How failures and the log call a request of Git. */
export const operationOf = ({ method, service }: GitRequest): string => `${method} /:repository.git${service}`;

const challenge = (): Problem =>
  new Problem(401, 'Invalid username or token.', undefined, { 'www-authenticate': 'Basic realm="GitHub"' });

const hidden = (viewer: Viewer): Problem => (viewer.kind === 'anonymous' ? challenge() : notFound());

/** Git itself would serve the commits of all repositories, because they share one object database. */
const refuseUnknown = ({ network }: Repository, { headers, body }: Pick<Received, 'headers' | 'body'>): Answer | undefined => {
  const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('latin1');
  const unknown = [...text.matchAll(/want ([0-9a-f]{40})/g)].find(([, sha = '']) => !network.has(sha))?.[1];
  if (unknown === undefined) return undefined;
  const line = `ERR upload-pack: not our ref ${unknown}`;
  const packet = (line.length + 4).toString(16).padStart(4, '0') + line;
  return { status: 200, headers: { 'content-type': 'application/x-git-upload-pack-result' }, body: Buffer.from(packet) };
};

const toText = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
