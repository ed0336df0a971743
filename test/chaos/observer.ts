import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EphdHarness } from '../e2e/ephd-harness.ts';
import { isAlive, type ServiceProcess } from '../e2e/service-processes.ts';
import { findDoubles, type Identity, readIdentities } from './observed-state.ts';

const checkEveryMs = 150;

/** Checks invariants that must hold at every moment, also while ephd is down. */
export class Observer implements Disposable {
  readonly doubles = new Set<string>();
  readonly wrongDeletions = new Set<string>();
  readonly #harness: EphdHarness;
  readonly #timer: NodeJS.Timeout;
  /** Environments that must stay, by branch: the branch has existed all the time. */
  readonly #pinned = new Map<string, Identity>();
  /** Branches deleted since everything last settled: whether a new branch of that name gets a new environment depends on timing. */
  readonly #unsettled = new Set<string>();

  constructor(harness: EphdHarness) {
    this.#harness = harness;
    this.#timer = setInterval(() => this.check(), checkEveryMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Call before the branch is deleted. */
  branchWillBeDeleted(branch: string): void {
    this.#pinned.delete(branch);
    this.#unsettled.add(branch);
  }

  /** Call once the observed state matches Git: every environment counts from now on. */
  settled(): void {
    this.#unsettled.clear();
    this.check();
  }

  check(): void {
    if (!existsSync(join(this.#harness.dataFolder, 'process'))) return;
    // The process list is not read atomically: two processes ran at the same time only if both are alive now.
    for (const [one, other] of findDoubles(this.#harness.services()))
      if (isAlive(one) && isAlive(other)) this.doubles.add(`${describe(one)} and ${describe(other)} do the same work`);
    this.#compare(readIdentities(this.#harness.dataFolder));
  }

  #compare(identities: readonly Identity[]): void {
    const now = new Map(identities.map((one) => [one.branch, one]));
    for (const [branch, before] of this.#pinned) {
      const { name, createdAt } = now.get(branch) ?? {};
      if (name !== before.name || createdAt !== before.createdAt)
        this.wrongDeletions.add(
          `${before.name} of ${branch}, made ${before.createdAt}, became ${name ?? 'nothing'}, made ${createdAt ?? 'never'}`,
        );
    }
    for (const [branch, identity] of now)
      if (!this.#pinned.has(branch) && !this.#unsettled.has(branch)) this.#pinned.set(branch, identity);
  }
}

const describe = ({ pid, component, instance, variables }: ServiceProcess): string =>
  `process ${pid} (${component} ${instance} at ${variables['EPH_COMMIT']?.slice(0, 7)})`;
