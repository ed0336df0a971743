import type { EnvironmentId, EnvironmentName } from '@eph/contract';
import { toDnsLabel } from '@eph/engine/desired/identity';
import type { Known } from '@eph/engine/loop/memory';
import type { Route, Routes } from '@eph/gateway';

/**
 * What the loop knows, as the gateway needs it. An alias that two environments could have stays with the one that was there first;
 * names are never shared.
 */
export class RouteTable implements Routes {
  readonly #routes = new Map<string, Route>();
  readonly #owners = new Map<EnvironmentId, { readonly name: EnvironmentName; readonly alias: string }>();

  find(label: string): Route | undefined {
    return this.#routes.get(label);
  }

  aliasOf(id: EnvironmentId): string | undefined {
    const owner = this.#owners.get(id);
    const route = owner === undefined ? undefined : this.#routes.get(owner.alias);
    return route?.state === 'alias' && route.target === owner?.name ? owner?.alias : undefined;
  }

  update(known: Known): void {
    const alias = toDnsLabel(`${known.project}-${known.ref.name}`);
    const before = this.#owners.get(known.id);
    if (before !== undefined && before.name !== known.name) this.remove(known.id);
    this.#owners.set(known.id, { name: known.name, alias });
    this.#routes.set(known.name, computeRoute(known));
    if (!this.#routes.has(alias)) this.#routes.set(alias, { state: 'alias', target: known.name });
  }

  remove(id: EnvironmentId): void {
    const owner = this.#owners.get(id);
    if (owner === undefined) return;
    const alias = this.aliasOf(id);
    this.#owners.delete(id);
    this.#routes.delete(owner.name);
    if (alias === undefined) return;
    this.#routes.delete(alias);
    const heir = [...this.#owners.values()].find((one) => one.alias === alias);
    if (heir !== undefined) this.#routes.set(alias, { state: 'alias', target: heir.name });
  }

  clear(): void {
    this.#routes.clear();
    this.#owners.clear();
  }
}

const computeRoute = (known: Known): Route => {
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
