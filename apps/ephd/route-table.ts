import type { EnvironmentId, EnvironmentName, ObservedComponent, ProjectId } from '@eph/contract';
import { belongsTo, computeAlias, type ProjectIds } from '@eph/engine/desired/identity';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { Route, Routes } from '@eph/gateway';

/**
 * What the loop knows, as the gateway needs it. A name comes before an alias of the same spelling. An alias that several
 * environments could have belongs to the project with the longest id, and there to the one that was there first.
 */
export class RouteTable implements Routes {
  readonly #byName = new Map<string, { readonly id: EnvironmentId; readonly route: Route }>();
  readonly #labels = new Map<EnvironmentId, Labels>();
  readonly #claims = new Map<string, Claims>();

  /** Not constant: projects join and leave. */
  readonly #projects: ProjectIds;

  constructor(projects: ProjectIds) {
    this.#projects = projects;
  }

  find(label: string): Route | undefined {
    return this.#byName.get(label)?.route ?? this.#findAlias(label);
  }

  /** Who has this name or alias. */
  ownerOf(label: string): EnvironmentId | undefined {
    return this.#byName.get(label)?.id ?? this.#claimantOf(label);
  }

  aliasOf(id: EnvironmentId): string | undefined {
    const labels = this.#labels.get(id);
    if (labels === undefined || this.#byName.has(labels.alias)) return undefined;
    const { alias, project, claims } = labels;
    // Nearly always it is the only one: a list asks this for each of its environments.
    const isOwner = claims.by.length > 1 ? this.#claimantOf(alias) === id : belongsTo(alias, project, this.#projects);
    return isOwner ? alias : undefined;
  }

  update(known: EnvironmentRecord): void {
    const { project, ref, name } = known;
    const alias = computeAlias(project, ref);
    const before = this.#labels.get(known.id);
    if (before !== undefined && before.name !== known.name) this.#byName.delete(before.name);
    const claims = before?.claims ?? this.#claims.get(alias) ?? { by: [] };
    if (!claims.by.includes(known.id)) claims.by.push(known.id);
    if (alias !== '') this.#claims.set(alias, claims);
    this.#labels.set(known.id, { name, alias, project, claims });
    this.#byName.set(known.name, { id: known.id, route: computeRoute(known) });
  }

  remove(id: EnvironmentId): void {
    const labels = this.#labels.get(id);
    if (labels === undefined) return;
    this.#labels.delete(id);
    this.#byName.delete(labels.name);
    const { alias, claims } = labels;
    claims.by.splice(claims.by.indexOf(id), 1);
    if (claims.by.length === 0) this.#claims.delete(alias);
  }

  clear(): void {
    this.#byName.clear();
    this.#labels.clear();
    this.#claims.clear();
  }

  #claimantOf(alias: string): EnvironmentId | undefined {
    for (const id of this.#claims.get(alias)?.by ?? []) {
      const project = this.#labels.get(id)?.project;
      if (project !== undefined && belongsTo(alias, project, this.#projects)) return id;
    }
    return undefined;
  }

  #findAlias(label: string): Route | undefined {
    const owner = this.#claimantOf(label);
    const labels = owner === undefined ? undefined : this.#labels.get(owner);
    return labels === undefined ? undefined : { state: 'alias', target: labels.name };
  }
}

interface Labels {
  readonly name: EnvironmentName;
  readonly alias: string;
  readonly project: ProjectId;
  readonly claims: Claims;
}

/** Who could have an alias, in the order of arrival. */
interface Claims {
  readonly by: EnvironmentId[];
}

/** While the traffic moves from one component to another, both are entries: it follows the desired one as soon as that is ready. */
const findEntry = ({ observed, entry }: EnvironmentRecord): ObservedComponent | undefined =>
  observed?.components
    .filter((one) => one.entry && one.current?.health === 'ready')
    .toSorted((a, b) => ((a.current?.since ?? '') < (b.current?.since ?? '') ? 1 : -1))
    .toSorted((a, b) => Number(`${b.provider}/${b.name}` === entry) - Number(`${a.provider}/${a.name}` === entry))[0];

const computeRoute = (known: EnvironmentRecord): Route => {
  const address = URL.parse(findEntry(known)?.upstream ?? '');
  if (address !== null) {
    const host = address.hostname.replace(/^\[|\]$/g, '');
    return { state: 'open', environment: known.name, upstream: { host, port: Number(address.port || 80) } };
  }
  return {
    state: 'closed',
    environment: known.name,
    phase: known.status?.phase ?? 'Pending',
    summary: known.status?.summary ?? 'It has just been noticed.',
    waitingFor: known.actions.flatMap((action) => (action.type === 'wait' ? [action.reason] : [])),
  };
};
