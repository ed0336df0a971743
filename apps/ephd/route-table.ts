import { type EnvironmentId, type EnvironmentName, toDnsLabel } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/memory';
import type { Route, Routes } from '@eph/gateway';

/**
 * What the loop knows, as the gateway needs it. A name comes before an alias of the same spelling, and an alias that several
 * environments could have belongs to the one that was there first.
 */
export class RouteTable implements Routes {
  readonly #byName = new Map<string, { readonly id: EnvironmentId; readonly route: Route }>();
  readonly #labels = new Map<EnvironmentId, { readonly name: EnvironmentName; readonly alias: string }>();
  /** Who could have an alias, in the order of arrival. */
  readonly #claims = new Map<string, Set<EnvironmentId>>();

  find(label: string): Route | undefined {
    return this.#byName.get(label)?.route ?? this.#findAlias(label);
  }

  /** Who has this name or alias. */
  ownerOf(label: string): EnvironmentId | undefined {
    return this.#byName.get(label)?.id ?? this.#claimantOf(label);
  }

  aliasOf(id: EnvironmentId): string | undefined {
    const alias = this.#labels.get(id)?.alias ?? '';
    return this.#claimantOf(alias) === id && !this.#byName.has(alias) ? alias : undefined;
  }

  update(known: EnvironmentRecord): void {
    const alias = toDnsLabel(`${known.project}-${known.ref.name}`);
    const before = this.#labels.get(known.id);
    if (before !== undefined && before.name !== known.name) this.#byName.delete(before.name);
    this.#labels.set(known.id, { name: known.name, alias });
    this.#byName.set(known.name, { id: known.id, route: computeRoute(known) });
    const claims = this.#claims.get(alias);
    if (claims === undefined) this.#claims.set(alias, new Set([known.id]));
    else claims.add(known.id);
  }

  remove(id: EnvironmentId): void {
    const labels = this.#labels.get(id);
    if (labels === undefined) return;
    this.#labels.delete(id);
    this.#byName.delete(labels.name);
    const claims = this.#claims.get(labels.alias);
    claims?.delete(id);
    if (claims?.size === 0) this.#claims.delete(labels.alias);
  }

  clear(): void {
    this.#byName.clear();
    this.#labels.clear();
    this.#claims.clear();
  }

  #claimantOf(alias: string): EnvironmentId | undefined {
    const [owner] = this.#claims.get(alias) ?? [];
    return owner;
  }

  #findAlias(label: string): Route | undefined {
    const owner = this.#claimantOf(label);
    const labels = owner === undefined ? undefined : this.#labels.get(owner);
    return labels === undefined ? undefined : { state: 'alias', target: labels.name };
  }
}

const computeRoute = (known: EnvironmentRecord): Route => {
  const entry = known.observed?.components.find((component) => component.entry);
  const address = entry?.current?.health === 'ready' ? entry.outputs['url'] : undefined;
  if (address !== undefined && URL.canParse(address)) {
    const { hostname, port } = new URL(address);
    return { state: 'open', environment: known.name, upstream: { host: hostname, port: Number(port || 80) } };
  }
  return {
    state: 'closed',
    environment: known.name,
    phase: known.status?.phase ?? 'Pending',
    summary: known.status?.summary ?? 'It has just been noticed.',
    waitingFor: known.actions.flatMap((action) => (action.type === 'wait' ? [action.reason] : [])),
  };
};
