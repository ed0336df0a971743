import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ComponentName, type EnvironmentId, environmentId, type ProjectId } from '@eph/contract';
import { isAbsent } from './faults.ts';

/**
 * Where things are in the data folder:
 *
 *     provider.json                       shows that the disk is mounted
 *     .scratch/                           folders being created or removed
 *     .caches/<project>/                  of package managers; `<project>.json` says how long a preparation takes without it
 *     <environment>/environment.json      its identity, and whether it is held
 *     <environment>/trees/<checkout>/     shared by the components; its name is the commit, and how it is prepared
 *     <environment>/trees/<checkout>.prepared/preparation.json, log, log.times, log.1, log.1.times, home/
 *     <environment>/components/<component>/component.json
 *     <environment>/components/<component>/<instance>/log, log.times, log.1, log.1.times
 *     <environment>/components/<component>/<instance>/home/
 *
 * Folders are renamed from and to `.scratch`, so that no other place ever has a partial one.
 */
export class Layout {
  readonly root: string;
  /** Distinguishes the markers of this data folder from those of others on the machine. */
  readonly #digest: string;

  constructor(root: string) {
    this.root = root;
    this.#digest = createHash('sha256').update(root).digest('hex').slice(0, 16);
  }

  get sentinel(): string {
    return join(this.root, 'provider.json');
  }

  get scratch(): string {
    return join(this.root, '.scratch');
  }

  cache(project: ProjectId): string {
    return join(this.root, '.caches', project);
  }

  cacheDurations(project: ProjectId): string {
    return `${this.cache(project)}.json`;
  }

  /** Of one environment alone. */
  ownCache(id: EnvironmentId): string {
    return join(this.environment(id), 'cache');
  }

  environment(id: EnvironmentId): string {
    return join(this.root, id);
  }

  identity(id: EnvironmentId): string {
    return join(this.root, id, 'environment.json');
  }

  component(id: EnvironmentId, component: ComponentName): string {
    return join(this.root, id, 'components', component);
  }

  componentRecord(id: EnvironmentId, component: ComponentName): string {
    return join(this.component(id, component), 'component.json');
  }

  log(id: EnvironmentId, component: ComponentName, instance: string): string {
    return join(this.component(id, component), instance, 'log');
  }

  home(id: EnvironmentId, component: ComponentName, instance: string): string {
    return join(this.component(id, component), instance, 'home');
  }

  trees(id: EnvironmentId): string {
    return join(this.root, id, 'trees');
  }

  preparation(id: EnvironmentId, checkout: string): string {
    return join(this.trees(id), `${checkout}${preparedEnding}`);
  }

  preparationRecord(id: EnvironmentId, checkout: string): string {
    return join(this.preparation(id, checkout), 'preparation.json');
  }

  preparationLog(id: EnvironmentId, checkout: string): string {
    return join(this.preparation(id, checkout), 'log');
  }

  preparationHome(id: EnvironmentId, checkout: string): string {
    return join(this.preparation(id, checkout), 'home');
  }

  preparationMarker(id: EnvironmentId, checkout: string): string {
    return `${this.marker(id)}${preparationPart}/${checkout}`;
  }

  /** The prefix of the markers of the data folder, an environment, a component or an instance. */
  marker(id?: EnvironmentId, component?: ComponentName, instance?: string): string {
    const parts = [this.#digest, id, component].filter((part) => part !== undefined);
    return `${parts.join('/')}/${instance ?? ''}`;
  }
}

/** Of what people run beside an instance, by its UTS namespace. That of the instance is no prefix: it is no part of the service. */
export const execMarker = (marker: string, uts?: string): string => {
  const whole = isExecMarker(marker) ? marker : marker.replace(/[^/]*$/, `${execPart}$&`);
  return uts === undefined ? whole : `${whole}.${uts}`;
};

export const isExecMarker = (marker: string): boolean => marker.includes(`/${execPart}`);

/** No instance is called so. */
const execPart = 'exec.';

/** In a marker, in place of a component, whose names have no dots. */
export const preparationPart = '.prepare';

const preparedEnding = '.prepared';

/** The checkout that an entry of the folder of trees belongs to. */
export const checkoutOfEntry = (entry: string): string => entry.replace(/\.prepared$/, '');

/** Of all environments that have a folder in the data folder. */
export const readIds = (root: string): readonly EnvironmentId[] =>
  readdirSync(root)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map(environmentId);

/** A folder that cannot be read may hold some. */
export const holdsEnvironments = (root: string): boolean => {
  try {
    return readIds(root).length > 0;
  } catch (error) {
    return !isAbsent(error);
  }
};
