import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createGitForge } from '@eph/adapters/forge-git/git-forge';
import { createGitNotesReporter } from '@eph/adapters/forge-git/git-notes';
import { createGiteaForge } from '@eph/adapters/forge-gitea/gitea-forge';
import { createGiteaReporter } from '@eph/adapters/forge-gitea/gitea-reporter';
import { createOwnerChanges } from '@eph/adapters/forge-gitea/owner-changes';
import { readRepositories as readGiteaRepositories } from '@eph/adapters/forge-gitea/repositories';
import { createGithubForge } from '@eph/adapters/forge-github/github-forge';
import { createGithubIdentity, type GithubAuth, type GithubIdentity } from '@eph/adapters/forge-github/github-identity';
import { createGithubReporter } from '@eph/adapters/forge-github/github-reporter';
import { readRepositories as readGithubRepositories } from '@eph/adapters/forge-github/repositories';
import { createGitlabForge } from '@eph/adapters/forge-gitlab/gitlab-forge';
import { createGitlabReporter } from '@eph/adapters/forge-gitlab/gitlab-reporter';
import { createGroupChanges } from '@eph/adapters/forge-gitlab/group-changes';
import { readRepositories as readGitlabRepositories } from '@eph/adapters/forge-gitlab/repositories';
import { createGate, type Gate } from '@eph/adapters/forge-http/gate';
import type { SharedChanges } from '@eph/adapters/forge-http/shared-changes';
import { commentMarker, EphError, type ListedRepository, type Log, type ProjectId, type Reading } from '@eph/contract';
import type { CommentTemplate } from '@eph/engine/report/comment-texts';
import { computeCommitStatus } from '@eph/engine/report/commit-status';
import { renderMarkdown } from '@eph/engine/report/markdown';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import type { Forge } from '@eph/engine/source/forge';
import type { RefWriter } from '@eph/engine/source/ref-writer';
import type { ConfiguredForge, ConfiguredProject, Environment } from './config.ts';
import { fillLink, type LinkTemplates } from './links.ts';
import { computeSharedOwners } from './shared-owners.ts';

export interface ConnectedProject {
  readonly forge: Forge & AsyncDisposable;
  readonly reporter: Reporter;
  /** Absent where ephd does not create branches. */
  readonly refs: RefWriter | undefined;
}

export interface ForgesOptions {
  readonly dataFolder: string;
  readonly environment: Environment;
  readonly links: LinkTemplates;
  readonly log: Log;
}

const system = { now: Date.now, random: Math.random };

/** Every project with its forge. Projects with the same token share its rate limit. */
export class Forges {
  readonly #options: ForgesOptions;
  readonly #projects = new Map<ProjectId, ConnectedProject>();
  readonly #gates = new Map<string, Gate>();
  readonly #identities = new Map<string, GithubIdentity>();
  /** By forge and owner. */
  readonly #looks = new Map<string, SharedChanges | undefined>();

  constructor(options: ForgesOptions) {
    this.#options = options;
  }

  /** @param all the owners that these share with others; those keep what they are read with */
  add(joined: readonly ConfiguredProject[], all: readonly ConfiguredProject[] = joined): void {
    const looks = new Map<ProjectId, SharedChanges | undefined>();
    for (const { forge, owner, projects } of computeSharedOwners(all)) {
      const key = `${forge.name} ${owner.toLowerCase()}`;
      if (!this.#looks.has(key)) this.#looks.set(key, this.#createLook(forge, owner));
      for (const id of projects) looks.set(id, this.#looks.get(key));
    }
    const connected = joined.map((project) => [project.id, this.#connect(project, looks.get(project.id))] as const);
    for (const [id, project] of connected) this.#projects.set(id, project);
  }

  async remove(left: Iterable<ProjectId>): Promise<void> {
    const removed = [...left].flatMap((id) => this.#projects.get(id) ?? []);
    for (const id of left) this.#projects.delete(id);
    await Promise.all(removed.map(({ forge }) => forge[Symbol.asyncDispose]()));
  }

  get all(): ReadonlyMap<ProjectId, ConnectedProject> {
    return this.#projects;
  }

  get(id: ProjectId): ConnectedProject {
    const project = this.#projects.get(id);
    if (project === undefined) throw new EphError('forge.refused', `project ${id} is not configured`);
    return project;
  }

  readRepositories(server: ConfiguredForge, owner: string, signal: AbortSignal): Promise<Reading<ListedRepository>> {
    const { log } = this.#options;
    if (server.type === 'github')
      return readGithubRepositories({ ...system, log, identity: this.#identify(server).identity }, owner, signal);
    const access = this.#access(server);
    return server.type === 'gitlab'
      ? readGitlabRepositories(access, owner, signal)
      : readGiteaRepositories(access, owner, signal);
  }

  /** Remaining requests within the rate limits, as far as the forges have reported them. */
  budgets(): readonly { readonly forge: string; readonly account: string; readonly remaining: number }[] {
    return [
      ...[...this.#gates].flatMap(([forge, gate]) => {
        const budget = gate.budget();
        return budget === undefined ? [] : [{ forge, account: '', remaining: budget.remaining }];
      }),
      ...[...this.#identities].flatMap(([forge, identity]) =>
        identity.budgets().map(({ account, budget }) => ({ forge, account, remaining: budget.remaining })),
      ),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove([...this.#projects.keys()]);
  }

  #connect(
    { id, location, forge: server, comments: commenting, texts }: ConfiguredProject,
    shared: SharedChanges | undefined,
  ): ConnectedProject {
    const { dataFolder, environment, log } = this.#options;
    const folder = join(dataFolder, 'projects', id);
    mkdirSync(folder, { recursive: true });
    const git = { project: id, folder, environment, log };
    if (server === undefined) {
      const forge = createGitForge({ ...git, location });
      return { forge, reporter: createGitNotesReporter({ forge }), refs: forge.refs };
    }
    const comments = {
      renderComment: renderWith(texts, this.#options.links),
      computeStatus: computeCommitStatus,
      comments: commenting,
    };
    const at = location.lastIndexOf('/');
    const named = { owner: location.slice(0, at), repository: location.slice(at + 1) };
    if (server.type === 'github') {
      const forge = createGithubForge({ ...git, ...system, ...named, ...this.#identify(server) });
      return { forge, reporter: createGithubReporter({ client: forge.client, ...comments }), refs: undefined };
    }
    const access = { ...this.#access(server), shared };
    if (server.type === 'gitlab') {
      const forge = createGitlabForge({ ...git, ...access, path: location });
      return { forge, reporter: createGitlabReporter({ client: forge.client, ...comments }), refs: undefined };
    }
    const forge = createGiteaForge({ ...git, ...access, ...named });
    return { forge, reporter: createGiteaReporter({ client: forge.client, ...system, ...comments }), refs: undefined };
  }

  /** One identity for all repositories with the same credentials: they share tokens, limits and caches. */
  #identify(server: ConfiguredForge): { readonly baseUrl: string; readonly auth: GithubAuth; readonly identity: GithubIdentity } {
    const { credentials } = server;
    const auth: GithubAuth =
      'token' in credentials
        ? { token: credentials.token.value }
        : {
            appId: credentials.appId,
            privateKey: credentials.key.value,
            ...(credentials.installation === undefined ? {} : { installationId: credentials.installation }),
          };
    const options = { ...system, baseUrl: server.url, auth, log: this.#options.log };
    const identity = this.#identities.get(server.name) ?? createGithubIdentity(options);
    this.#identities.set(server.name, identity);
    return { ...options, identity };
  }

  /** GitHub needs none: conditional requests for unchanged data are free there. */
  #createLook(server: ConfiguredForge, owner: string): SharedChanges | undefined {
    if (server.type === 'github') return undefined;
    const access = this.#access(server);
    return server.type === 'gitlab' ? createGroupChanges(access, owner) : createOwnerChanges(access, owner);
  }

  #access(server: ConfiguredForge) {
    return { ...system, log: this.#options.log, baseUrl: server.url, token: tokenOf(server), gate: this.#gateOf(server) };
  }

  #gateOf({ name }: ConfiguredForge): Gate {
    const gate = this.#gates.get(name) ?? createGate({ ...system, shown: name, log: this.#options.log });
    this.#gates.set(name, gate);
    return gate;
  }
}

const renderWith =
  (template: CommentTemplate, { logs, dashboard }: LinkTemplates) =>
  (report: Report): string =>
    renderMarkdown(report.view, {
      marker: commentMarker(report.environment),
      template,
      ...(logs === undefined ? {} : { logsUrl: fillLink(logs, report) }),
      ...(dashboard === undefined ? {} : { dashboardUrl: fillLink(dashboard, report) }),
    });

const tokenOf = ({ credentials, name }: ConfiguredForge): string => {
  if ('token' in credentials) return credentials.token.value;
  throw new EphError('config.invalid', `forge ${name} needs a token`);
};
