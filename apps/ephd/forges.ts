import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createGitForge } from '@eph/adapters/forge-git/git-forge';
import { createGitNotesReporter } from '@eph/adapters/forge-git/git-notes';
import type { ForgeServer } from '@eph/adapters/forge-http/forge-server';
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

/** Every project with its forge. Projects with the same token share its rate limit. */
export class Forges {
  readonly #options: ForgesOptions;
  readonly #projects = new Map<ProjectId, ConnectedProject>();
  readonly #servers = new Map<string, ForgeServer>();
  readonly #looks = new Map<ProjectId, SharedChanges>();

  constructor(projects: readonly ConfiguredProject[], options: ForgesOptions) {
    this.#options = options;
    for (const { forge, owner, projects: together } of computeSharedOwners(projects)) {
      const look = this.#serverOf(forge).createSharedChanges?.(owner);
      if (look !== undefined) for (const id of together) this.#looks.set(id, look);
    }
    for (const project of projects) this.#projects.set(project.id, this.#connect(project));
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
    return this.#serverOf(server).readRepositories(owner, signal);
  }

  /** Remaining requests within the rate limits, as far as the forges have reported them. */
  budgets(): readonly { readonly forge: string; readonly account: string; readonly remaining: number }[] {
    return [...this.#servers].flatMap(([forge, server]) => server.budgets().map((budget) => ({ forge, ...budget })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#projects.values()].map(({ forge }) => forge[Symbol.asyncDispose]()));
  }

  #connect({ id, location, forge: server, comments, texts }: ConfiguredProject): ConnectedProject {
    const { dataFolder, environment, log } = this.#options;
    const folder = join(dataFolder, 'projects', id);
    mkdirSync(folder, { recursive: true });
    const git = { project: id, folder, environment, log };
    if (server === undefined) {
      const forge = createGitForge({ ...git, location });
      return { forge, reporter: createGitNotesReporter({ forge }), refs: forge.refs };
    }
    const { forge, reporter } = this.#serverOf(server).connect({
      ...git,
      location,
      shared: this.#looks.get(id),
      renderComment: renderWith(texts, this.#options.links),
      computeStatus: computeCommitStatus,
      comments,
    });
    return { forge, reporter, refs: undefined };
  }

  #serverOf({ name, createServer }: ConfiguredForge): ForgeServer {
    const server = this.#servers.get(name) ?? createServer({ now: Date.now, random: Math.random, log: this.#options.log });
    this.#servers.set(name, server);
    return server;
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
