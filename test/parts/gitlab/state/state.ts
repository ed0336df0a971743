import { BareRepository } from '../../emulation/bare-repository.ts';
import { type Announcement, fullPath, type Group, type Project, type User } from './entities.ts';

/** Everything the emulated GitLab knows. */
export class GitlabState {
  /** The base URL for links. */
  url = 'http://127.0.0.1';
  announce: (announcement: Announcement) => void = () => undefined;
  readonly folder: string;
  readonly #now: () => number;
  #revision = 0;
  #lastId = 0;
  readonly users = new Map<number, User>();
  readonly groups = new Map<number, Group>();
  readonly projects = new Map<number, Project>();
  readonly #groupPaths = new Map<string, Group>();
  readonly #projectPaths = new Map<string, Project>();
  readonly #repositories = new Map<number, Promise<BareRepository>>();
  /** Former paths of projects. */
  readonly #movedPaths = new Map<string, Project>();

  constructor(folder: string, now: () => number) {
    this.folder = folder;
    this.#now = now;
  }

  now(): number {
    return this.#now();
  }

  /** Unique across all types, so that a client that confuses two ids gets a 404. */
  nextId(): number {
    this.#lastId += 1;
    return 1000 + this.#lastId;
  }

  /** Grows with every change. */
  get revision(): number {
    return this.#revision;
  }

  touch(): void {
    this.#revision += 1;
  }

  addGroup(group: Group): void {
    this.groups.set(group.id, group);
    this.#groupPaths.set(group.fullPath.toLowerCase(), group);
    this.touch();
  }

  findGroup(idOrPath: string): Group | undefined {
    return isId(idOrPath) ? this.groups.get(Number(idOrPath)) : this.#groupPaths.get(idOrPath.toLowerCase());
  }

  addProject(project: Project): void {
    this.projects.set(project.id, project);
    this.#projectPaths.set(fullPath(project).toLowerCase(), project);
    this.#movedPaths.delete(fullPath(project).toLowerCase());
    this.touch();
  }

  moveProject(project: Project, namespace: Group | User, path: string): void {
    const former = fullPath(project).toLowerCase();
    this.#projectPaths.delete(former);
    project.namespace = namespace;
    project.path = path;
    this.#movedPaths.set(former, project);
    this.addProject(project);
  }

  removeProject(project: Project): void {
    this.projects.delete(project.id);
    this.#projectPaths.delete(fullPath(project).toLowerCase());
    for (const [path, moved] of this.#movedPaths) if (moved === project) this.#movedPaths.delete(path);
    this.touch();
  }

  findProject(idOrPath: string): Project | undefined {
    return isId(idOrPath) ? this.projects.get(Number(idOrPath)) : this.#projectPaths.get(idOrPath.toLowerCase());
  }

  findMovedProject(path: string): Project | undefined {
    return this.#movedPaths.get(path.toLowerCase());
  }

  /** Created with the first commit: thousands of projects without a push cost nothing. */
  async repositoryOf(project: Project): Promise<BareRepository> {
    const made = this.#repositories.get(project.id) ?? BareRepository.create(this.folder, String(project.id));
    this.#repositories.set(project.id, made);
    project.repository = await made;
    return project.repository;
  }
}

const isId = (text: string): boolean => /^\d+$/u.test(text);
