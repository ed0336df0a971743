import type { EnvironmentId } from '@eph/contract';
import type { EnvironmentRecord, Memory } from './memory.ts';

/** What another environment publishes. */
export interface Published {
  readonly outputs: { readonly [component: string]: { readonly [key: string]: string } };
  /** Its references lead back to whoever asks: each change of one would change the other, for ever. */
  readonly refersBack: boolean;
}

/** Environments that refer to others by their names or aliases. */
export class Neighbours {
  readonly #memory: Memory;
  readonly #ownerOf: (label: string) => EnvironmentId | undefined;
  readonly #referrers = new Set<EnvironmentRecord>();

  constructor(memory: Memory, ownerOf: (label: string) => EnvironmentId | undefined) {
    this.#memory = memory;
    this.#ownerOf = ownerOf;
  }

  /** What it refers to now. */
  refer(known: EnvironmentRecord, namespaces: readonly string[]): void {
    known.namespaces = namespaces;
    if (namespaces.length > 0) this.#referrers.add(known);
    else this.#referrers.delete(known);
  }

  /** Everybody who refers to this one, by the name it has or had. */
  referrersOf(known: EnvironmentRecord): readonly EnvironmentRecord[] {
    const leadsHere = (label: string): boolean => label === known.name || this.#ownerOf(label) === known.id;
    return [...this.#referrers].filter((other) => other !== known && other.namespaces.some(leadsHere));
  }

  /** Undefined while there is no such environment. */
  published(label: string, asker: EnvironmentId): Published | undefined {
    const known = this.#find(label);
    if (known?.observed === undefined) return undefined;
    const outputs = Object.fromEntries(known.observed.components.map((component) => [component.name, component.outputs]));
    return { outputs, refersBack: this.#leadsTo(known, asker) };
  }

  #find(label: string): EnvironmentRecord | undefined {
    const id = this.#ownerOf(label);
    return id === undefined ? undefined : this.#memory.get(id);
  }

  #leadsTo(from: EnvironmentRecord, target: EnvironmentId): boolean {
    const left = [from];
    const seen = new Set<EnvironmentRecord>();
    for (let known = left.pop(); known !== undefined; known = left.pop()) {
      if (known.id === target) return true;
      if (seen.has(known)) continue;
      seen.add(known);
      left.push(...known.namespaces.map((label) => this.#find(label)).filter((one) => one !== undefined));
    }
    return false;
  }
}
