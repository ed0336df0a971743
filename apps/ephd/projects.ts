import { isDeepStrictEqual } from 'node:util';
import type { Log, ProjectId } from '@eph/contract';
import type { EngineContext } from '@eph/engine/loop/context';
import type { Engine } from '@eph/engine/loop/engine';
import type { ConfigurationReader } from '@eph/engine/source/read-configuration';
import type { ConfiguredProject } from './config.ts';
import { forgeTypes } from './forge-types.ts';
import type { Forges } from './forges.ts';

export interface ProjectsOptions {
  readonly forges: Forges;
  readonly reader: Pick<ConfigurationReader, 'setProjects'> | undefined;
  /** Undefined while this ephd does not lead. */
  readonly engine: () => Engine | undefined;
  readonly log: Log;
}

/** How many projects a line of the log names. */
const namedProjects = 20;

/** The projects of a running ephd. Everything that depends on them follows a change, and nothing else is affected. */
export class Projects {
  readonly #options: ProjectsOptions;
  readonly #current = new Map<ProjectId, ConfiguredProject>();

  constructor(options: ProjectsOptions) {
    this.#options = options;
  }

  get all(): ReadonlyMap<ProjectId, ConfiguredProject> {
    return this.#current;
  }

  /** A project with other settings leaves and joins. Not to be called while another call is under way. */
  async set(projects: readonly ConfiguredProject[]): Promise<void> {
    const { forges, engine } = this.#options;
    const next = new Map(projects.map((project) => [project.id, project]));
    const left = new Set(this.#current.keys().filter((id) => !isDeepStrictEqual(this.#current.get(id), next.get(id))));
    // A new engine may be created during an `await`, and must find the same projects everywhere.
    for (const id of left) this.#current.delete(id);
    engine()?.removeProjects(left);
    this.#configure('left', [...left]);
    await forges.remove(left);
    const joined = projects.filter(({ id }) => !this.#current.has(id));
    forges.add(joined, projects);
    for (const project of joined) this.#current.set(project.id, project);
    this.#configure(
      'joined',
      joined.map(({ id }) => id),
    );
    if (joined.length > 0) engine()?.addProjects(this.forEngine(joined));
  }

  forEngine(projects: Iterable<ConfiguredProject> = this.#current.values()): EngineContext['projects'] {
    const { forges } = this.#options;
    return new Map(
      Array.from(projects, (project) => {
        const { id, forge: server } = project;
        const limit = server && { account: server.name, readingsPerMinute: forgeTypes[server.type].readingsPerMinute };
        return [id, { ...project, forge: forges.get(id).forge, limit }];
      }),
    );
  }

  #configure(change: 'left' | 'joined', ids: readonly ProjectId[]): void {
    if (ids.length === 0) return;
    const { reader, log } = this.#options;
    reader?.setProjects(Array.from(this.#current.values(), ({ id, repository }) => ({ repository, project: id })));
    log.info({ projects: ids.slice(0, namedProjects), count: ids.length }, `projects ${change}`);
  }
}
