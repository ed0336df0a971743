import { createHash } from 'node:crypto';
import type { Failures } from '../../emulation/failures.ts';
import { type Answer, failing, type Outcome, type Received } from '../../emulation/loopback-server.ts';
import type { RequestLog } from '../../emulation/request-log.ts';
import { shapes } from '../shapes/shapes.ts';
import { authenticate, readToken, type Scope, type Token } from '../state/access.ts';
import type { User } from '../state/entities.ts';
import { badParameter, Refusal } from '../state/refusal.ts';
import type { GitlabState } from '../state/state.ts';
import { type Call, type Endpoint, type Match, type Reply, Routes } from './endpoint.ts';
import type { GitHttp, GitMatch } from './git-http.ts';
import type { RateLimit } from './rate-limit.ts';
import { readParameters } from './read-parameters.ts';

const root = '/api/v4';
const nothing: Answer = { status: 0, headers: {}, body: Buffer.alloc(0) };

/** Lists that clients poll; cached until anything changes, so that thousands of idle projects cost little. */
const remembered = new Set([
  'GET /projects/:id/merge_requests',
  'GET /groups/:id/merge_requests',
  'GET /groups/:id/projects',
  'GET /projects/:id',
]);

export interface ApiParts {
  readonly state: GitlabState;
  readonly tokens: ReadonlyMap<string, Token>;
  readonly git: GitHttp;
  readonly endpoints: readonly Endpoint[];
  readonly failures: Failures;
  readonly requests: RequestLog;
  readonly rateLimit: RateLimit;
  /** Deviations of the emulator or its client from the documentation. */
  readonly mistakes: string[];
}

/** Answers requests as GitLab does, and checks both sides of the conversation against the documentation. */
export class GitlabApi {
  readonly #parts: ApiParts;
  readonly #routes: Routes;
  readonly #memory = new Map<string, { readonly revision: number; readonly answer: Answer }>();
  #requestCount = 0;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#routes = new Routes(parts.endpoints);
  }

  async answer(request: Received): Promise<Outcome> {
    const { failures, requests, state, git } = this.#parts;
    const { method, target, headers } = request;
    const gitMatch = git.match(request);
    const match = this.#match(request);
    const operation = gitMatch?.name ?? (match instanceof Refusal ? undefined : match?.endpoint.name);
    const rule = failures.pick({ method, path: target, operation });
    const failure = rule?.failure;
    const id = `request-${(this.#requestCount += 1)}`;
    // If the failure prevents any effect, the request is not processed.
    const isSpared =
      rule !== undefined && rule.takesEffect !== true && ['no-answer', 'reset', 'status'].includes(rule.failure.kind);
    const respond = () =>
      gitMatch === undefined
        ? this.#respond(request, match, id, failure?.kind === 'empty-page')
        : this.#serveGit(request, gitMatch);
    const answer = isSpared ? nothing : await respond();
    const outcome = failing(answer, failure);
    const isUnanswered = failure?.kind === 'no-answer' || failure?.kind === 'reset';
    requests.add({
      at: state.now(),
      id,
      method,
      path: target,
      operation,
      budget: (gitMatch === undefined ? this.#tokenOf(request) : git.tokenOf(request))?.user.username,
      status: isUnanswered ? 0 : outcome.answer.status,
      // A conditional request counts like any other; Git requests do not count against the API limit.
      points: isSpared || gitMatch !== undefined ? 0 : 1,
      conditional: headers['if-none-match'] !== undefined,
      failure: failure?.kind,
    });
    return outcome;
  }

  #match({ method, target }: Received): Match | Refusal | undefined {
    const path = target.split('?')[0] ?? '';
    if (!path.startsWith(`${root}/`)) return undefined;
    try {
      return this.#routes.find(method, path.slice(root.length));
    } catch (error) {
      if (error instanceof URIError) return badParameter('the path is not well encoded');
      throw error;
    }
  }

  #tokenOf({ headers }: Received): Token | undefined {
    return this.#parts.tokens.get(readToken(headers) ?? '');
  }

  async #respond(request: Received, match: Match | Refusal | undefined, id: string, emptyPages: boolean): Promise<Answer> {
    const throttle = this.#parts.rateLimit.count(this.#tokenOf(request)?.user.username ?? '');
    // By the clock of the emulator, as all its times.
    const own = { date: new Date(this.#parts.state.now()).toUTCString(), 'x-request-id': id, ...throttle.headers };
    if (throttle.answer !== undefined) return { ...throttle.answer, headers: { ...throttle.answer.headers, ...own } };
    const answer = await this.#answerOrRefuse(request, match, emptyPages);
    return conditional(request, { ...answer, headers: { ...answer.headers, ...own } });
  }

  async #serveGit(request: Received, match: GitMatch): Promise<Answer> {
    try {
      return await this.#parts.git.answer(request, match);
    } catch (error) {
      return error instanceof Refusal ? this.#refuse(error) : this.#fail(request, error);
    }
  }

  async #answerOrRefuse(request: Received, match: Match | Refusal | undefined, emptyPages: boolean): Promise<Answer> {
    const token = this.#tokenOf(request);
    const isAnonymous = readToken(request.headers) === undefined;
    try {
      if (match instanceof Refusal) throw match;
      if (match === undefined) throw this.#unknown(request);
      const user = isAnonymous ? undefined : authenticate(token, scopesFor(match.endpoint), this.#parts.state.now());
      return await this.#remember(request, match, user, emptyPages, async () => {
        const call = { ...this.#call(request, match, user), emptyPages };
        return this.#check(match.endpoint, await match.endpoint.handle(call as Call<never>));
      });
    } catch (error) {
      return error instanceof Refusal ? this.#refuse(error) : this.#fail(request, error);
    }
  }

  async #remember(
    { method, target }: Received,
    { endpoint }: Match,
    user: User | undefined,
    emptyPages: boolean,
    make: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!remembered.has(endpoint.name) || emptyPages) return make();
    const key = `${user?.id ?? ''} ${method} ${target}`;
    const { revision } = this.#parts.state;
    const known = this.#memory.get(key);
    if (known?.revision === revision) return known.answer;
    const answer = await make();
    this.#memory.set(key, { revision, answer });
    return answer;
  }

  #call({ method, target, headers, body }: Received, { endpoint, path }: Match, user: User | undefined) {
    const read = readParameters(target.split('?')[1] ?? '', headers['content-type'] ?? '', body);
    const parsed = endpoint.parameters.safeParse(read);
    if (!parsed.success) {
      const reason = parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ');
      this.#parts.mistakes.push(`${method} ${target}: not as documented: ${reason}`);
      throw badParameter(reason);
    }
    return { state: this.#parts.state, user, method, target, path: (name: string) => path[name] ?? '', parameters: parsed.data };
  }

  #check({ name, answer: shape }: Endpoint, { status = 200, headers = {}, body }: Reply): Answer {
    if (body instanceof Uint8Array) return { status, headers, body };
    if (body === undefined) return { status, headers, body: Buffer.alloc(0) };
    const checked = shape?.safeParse(body);
    if (checked?.success !== true) {
      this.#parts.mistakes.push(
        `${name}: the answer differs from its documented shape: ${checked?.error.message ?? 'none is known'}`,
      );
    }
    return json(status, body, headers);
  }

  #refuse({ status, body, headers }: Refusal): Answer {
    if (typeof body === 'string')
      return { status, headers: { ...headers, 'content-type': 'text/plain' }, body: Buffer.from(body) };
    if (!shapes.refusal.safeParse(body).success) this.#parts.mistakes.push(`not a documented refusal: ${JSON.stringify(body)}`);
    return json(status, body, headers);
  }

  #fail({ method, target }: Received, error: unknown): Answer {
    this.#parts.mistakes.push(
      `${method} ${target}: the emulator failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    return json(500, { message: '500 Internal Server Error' }, {});
  }

  #unknown({ method, target }: Received): Refusal {
    this.#parts.mistakes.push(`${method} ${target}: no such endpoint is emulated`);
    return new Refusal(404, { error: '404 Not Found' });
  }
}

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>>): Answer => ({
  status,
  headers: {
    ...headers,
    'content-type': 'application/json',
    'cache-control': 'max-age=0, private, must-revalidate',
    vary: 'Origin',
  },
  body: Buffer.from(JSON.stringify(body)),
});

/** Weak tags over the body alone, compared letter by letter, as the Rack middlewares of GitLab do. */
const conditional = ({ method, headers }: Received, answer: Answer): Answer => {
  const isTagged =
    answer.status === 200 && (method === 'GET' || method === 'HEAD') && answer.headers['content-type'] === 'application/json';
  if (!isTagged) return answer;
  const etag = `W/"${createHash('sha256').update(answer.body).digest('hex').slice(0, 32)}"`;
  if (headers['if-none-match'] !== etag) return { ...answer, headers: { ...answer.headers, etag } };
  const { 'content-type': _type, ...kept } = answer.headers;
  return { status: 304, headers: { ...kept, etag }, body: Buffer.alloc(0) };
};

const scopesFor = ({ name }: Endpoint): readonly Scope[] => {
  if (!name.startsWith('GET ')) return ['api'];
  if (name === 'GET /user') return ['api', 'read_api', 'read_user'];
  return ['api', 'read_api'];
};
