import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterApi } from '../parts/cluster-api.ts';
import { type EnvironmentNamespace, isLive, isTask, type ListedPod, readNamespaces, readPods, workOf } from './cluster-state.ts';

const checkEveryMs = 300;

/** Checks invariants that must hold at every moment, also while ephd is down. */
export class ClusterObserver implements AsyncDisposable {
  readonly doubles = new Set<string>();
  readonly wrongDeletions = new Set<string>();
  readonly #api: ClusterApi;
  readonly #owner: string;
  readonly #stopping = new AbortController();
  readonly #work: Promise<void>;
  /** Namespaces that must stay, by branch: the branch has existed all the time. */
  readonly #pinned = new Map<string, EnvironmentNamespace>();
  /** Branches deleted since everything last settled: whether a new branch of that name gets a new environment depends on timing. */
  readonly #unsettled = new Set<string>();
  /** What was read before a branch was deleted, or before everything settled, says nothing about now. */
  #epoch = 0;

  constructor(api: ClusterApi, owner: string) {
    this.#api = api;
    this.#owner = owner;
    this.#work = this.#checkUntilStopped();
  }

  /** Call before the branch is deleted. */
  branchWillBeDeleted(branch: string): void {
    this.#epoch += 1;
    this.#pinned.delete(branch);
    this.#unsettled.add(branch);
  }

  /** Call once the observed state matches Git: every environment counts from now on. */
  async settled(): Promise<void> {
    this.#epoch += 1;
    this.#unsettled.clear();
    await this.#check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#work;
  }

  async #checkUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#check();
      await sleep(checkEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const epoch = this.#epoch;
    const [namespaces, pods] = [await readNamespaces(this.#api, this.#owner), await readPods(this.#api, this.#owner)];
    for (const twice of findRepeated(namespaces.filter(({ isGoing }) => !isGoing).map(({ environment }) => environment)))
      this.doubles.add(`environment ${twice} has two namespaces`);
    for (const twice of findRepeated(pods.filter((pod) => isRunning(pod)).map(workOf))) this.doubles.add(`two pods run ${twice}`);
    if (epoch === this.#epoch) this.#compare(namespaces);
  }

  #compare(namespaces: readonly EnvironmentNamespace[]): void {
    for (const [branch, { name, uid }] of this.#pinned) {
      const now = namespaces.find((one) => one.uid === uid);
      if (now === undefined || now.isGoing)
        this.wrongDeletions.add(`namespace ${name} of ${branch} ${now === undefined ? 'is gone' : 'is being removed'}`);
    }
    for (const one of namespaces)
      if (!one.isGoing && !this.#pinned.has(one.branch) && !this.#unsettled.has(one.branch)) this.#pinned.set(one.branch, one);
  }
}

const isRunning = (pod: ListedPod): boolean => isLive(pod) && !isTask(pod);

const findRepeated = (texts: readonly string[]): readonly string[] => texts.filter((one, index) => texts.indexOf(one) !== index);
