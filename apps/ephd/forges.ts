import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createGitForge } from '@eph/adapters/forge-git/git-forge';
import { createGitNotesReporter } from '@eph/adapters/forge-git/git-notes';
import type { ForgeServer } from '@eph/adapters/forge-http/forge-server';
import type { SharedChanges } from '@eph/adapters/forge-http/shared-changes';
import {
  commentMarker,
  EphError,
  type ListedRepository,
  type Log,
  type ProjectId,
  type Reading,
  type ServerView,
} from '@eph/contract';
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
      if (!this.#looks.has(key)) this.#looks.set(key, this.#serverOf(forge).createSharedChanges?.(owner));
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
    return this.#serverOf(server).readRepositories(owner, signal);
  }

  /** Remaining requests within the rate limits, as far as the forges have reported them. */
  budgets(): ServerView['budgets'] {
    return [...this.#servers].flatMap(([forge, server]) => server.budgets().map((budget) => ({ forge, ...budget })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove([...this.#projects.keys()]);
  }

  #connect(
    { id, location, forge: server, comments, texts }: ConfiguredProject,
    shared: SharedChanges | undefined,
  ): ConnectedProject {
    const { dataFolder, environment, log } = this.#options;
    const folder = join(dataFolder, 'projects', id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const git = { project: id, folder, environment, log };
    if (server === undefined) {
      const forge = createGitForge({ ...git, location });
      return { forge, reporter: createGitNotesReporter({ forge }), refs: forge.refs };
    }
    const { forge, reporter } = this.#serverOf(server).connect({
      ...git,
      location,
      shared,
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
