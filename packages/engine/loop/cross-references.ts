import type { EnvironmentId } from '@eph/contract';
import type { EnvironmentRecord } from './record.ts';
import type { Records } from './records.ts';

/** What another environment publishes. */
export interface Published {
  readonly outputs: { readonly [component: string]: { readonly [key: string]: string } };
  /** Its references lead back to the one that asks: each change of one would change the other, without end. */
  readonly refersBack: boolean;
}

/** Environments that refer to others by their names or aliases. */
export class CrossReferences {
  readonly #records: Records;
  readonly #ownerOf: (label: string) => EnvironmentId | undefined;
  readonly #referrers = new Set<EnvironmentRecord>();

  constructor(records: Records, ownerOf: (label: string) => EnvironmentId | undefined) {
    this.#records = records;
    this.#ownerOf = ownerOf;
  }

  refer(record: EnvironmentRecord, namespaces: readonly string[]): void {
    this.#records.update(record, { namespaces });
    if (namespaces.length > 0) this.#referrers.add(record);
    else this.#referrers.delete(record);
  }

  /** All that refer to this one, by the name it has or had. */
  referrersOf(record: EnvironmentRecord): readonly EnvironmentRecord[] {
    const leadsHere = (label: string): boolean => label === record.name || this.#ownerOf(label) === record.id;
    return [...this.#referrers].filter((other) => other !== record && other.namespaces.some(leadsHere));
  }

  /** Undefined while there is no such environment. */
  published(label: string, asker: EnvironmentId): Published | undefined {
    const record = this.#find(label);
    if (record?.observed === undefined) return undefined;
    // While a component moves, two providers have it: the one that took over last is the one to use.
    const inOrder = record.observed.components.toSorted((a, b) => ((a.current?.since ?? '') < (b.current?.since ?? '') ? -1 : 1));
    const outputs = Object.fromEntries(inOrder.map((component) => [component.name, component.outputs]));
    return { outputs, refersBack: this.#leadsTo(record, asker) };
  }

  #find(label: string): EnvironmentRecord | undefined {
    const id = this.#ownerOf(label);
    return id === undefined ? undefined : this.#records.get(id);
  }

  #leadsTo(from: EnvironmentRecord, target: EnvironmentId): boolean {
    const left = [from];
    const seen = new Set<EnvironmentRecord>();
    for (let record = left.pop(); record !== undefined; record = left.pop()) {
      if (record.id === target) return true;
      if (seen.has(record)) continue;
      seen.add(record);
      left.push(...record.namespaces.map((label) => this.#find(label)).filter((one) => one !== undefined));
    }
    return false;
  }
}
