import { GitBackend } from '../../emulation/git-backend.ts';
import { type GitRequest, parseGitRequest } from '../../emulation/git-request.ts';
import type { Answer, Received } from '../../emulation/loopback-server.ts';
import { canReadCode, canSee, isLive, levelOf, readPassword, type Scope, type Token } from '../state/access.ts';
import { accessLevels, type Project, type User } from '../state/entities.ts';
import { afterPush, noCommit, refusalOfPush } from '../state/refs.ts';
import { Refusal } from '../state/refusal.ts';
import type { GitlabState } from '../state/state.ts';
import { parseCommands, type RefCommand } from './receive-commands.ts';

export interface GitMatch extends GitRequest {
  readonly name: string;
}

/** The Git configuration of Gitaly. */
const settings = ['http.receivepack=true', 'receive.hideRefs=refs/merge-requests', 'receive.autogc=false'];

/** https://docs.gitlab.com/user/profile/personal_access_tokens/#personal-access-token-scopes: `read_api` opens no repository */
const fetching: readonly Scope[] = ['api', 'read_repository', 'write_repository'];
const pushing: readonly Scope[] = ['api', 'write_repository'];

/** Git over HTTP: tokens as passwords with any user name; a push has all its side effects. */
export class GitHttp {
  readonly #state: GitlabState;
  readonly #tokens: ReadonlyMap<string, Token>;
  readonly #backend: GitBackend;

  constructor(state: GitlabState, tokens: ReadonlyMap<string, Token>) {
    this.#state = state;
    this.#tokens = tokens;
    this.#backend = new GitBackend(state.folder, settings);
  }

  match({ method, target }: Received): GitMatch | undefined {
    const git = parseGitRequest(method, target);
    return git === undefined ? undefined : { ...git, name: `${method} /:project.git${git.service}` };
  }

  tokenOf({ headers }: Received): Token | undefined {
    return this.#tokens.get(readPassword(headers) ?? '');
  }

  async answer(request: Received, git: GitMatch): Promise<Answer> {
    const { project, user } = this.#admit(request, git);
    const repository = await this.#state.repositoryOf(project);
    if (git.service !== '/git-receive-pack' || user === undefined) return this.#backend.run(repository.path, { request, git });
    const commands = parseCommands(request.body);
    const refused = commands
      .map(({ ref, after }) => refusalOfPush(user, project, ref, after))
      .find((reason) => reason !== undefined);
    const answer = await this.#backend.run(repository.path, { request, git, refused: refused && `GitLab: ${refused}` });
    if (refused === undefined) for (const command of commands) await this.#follow(project, user, command);
    return answer;
  }

  /** Anyone may fetch from a public project, but an invalid token is always refused. */
  #admit(request: Received, { path, isPush }: GitMatch): { readonly project: Project; readonly user: User | undefined } {
    const isAnonymous = request.headers['authorization'] === undefined;
    const token = this.tokenOf(request);
    if (!isAnonymous && !isLive(token, this.#state.now())) throw challenge();
    const user = token?.user;
    const project = this.#find(path);
    if (isAnonymous && (isPush || project === undefined || !canReadCode(undefined, project))) throw challenge();
    if (project === undefined || !canSee(user, project)) {
      throw refuse(404, "The project you were looking for could not be found or you don't have permission to view it.");
    }
    const isScoped = token === undefined || (isPush ? pushing : fetching).some((scope) => token.scopes.includes(scope));
    if (!isScoped) throw refuse(403, isPush ? 'You are not allowed to upload code.' : 'You are not allowed to download code.');
    if (!canReadCode(user, project)) throw refuse(403, 'You are not allowed to download code from this project.');
    if (isPush && (levelOf(user, project) < accessLevels.developer || project.archived)) {
      throw refuse(403, 'You are not allowed to push code to this project.');
    }
    return { project, user };
  }

  /** Also by a former path. */
  #find(encoded: string): Project | undefined {
    const path = decodePath(encoded);
    return path === undefined ? undefined : (this.#state.findProject(path) ?? this.#state.findMovedProject(path));
  }

  /** Git may have refused a ref by itself: only what moved counts. */
  async #follow(project: Project, user: User, { ref, before, after }: RefCommand): Promise<void> {
    const refs = (await project.repository?.refs(ref)) ?? [];
    const now = refs.find(({ name }) => name === ref)?.target ?? noCommit;
    if (before !== after && now === after) await afterPush(this.#state, user, project, ref, before, after);
  }
}

const decodePath = (path: string): string | undefined => {
  try {
    const decoded = decodeURIComponent(path);
    // Ids are for the API alone.
    return decoded.includes('/') ? decoded : undefined;
  } catch {
    return undefined; // No project has a name that cannot be read.
  }
};

const refuse = (status: number, text: string): Refusal => new Refusal(status, `${text}\n`);

const challenge = (): Refusal => new Refusal(401, 'HTTP Basic: Access denied\n', { 'www-authenticate': 'Basic realm="GitLab"' });
