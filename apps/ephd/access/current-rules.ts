import type { Failure, PlacedRule } from '@eph/contract';
import type { RuleSet } from '@eph/engine/access/decide';
import type { ConfigurationReader } from '@eph/engine/source/read-configuration';

/** The rules in force: those of ephd's own file, and those in `access.yaml` of the configuration repository. */
export class CurrentRules {
  readonly #own: readonly PlacedRule[];
  readonly #reader: Pick<ConfigurationReader, 'rules' | 'headFault'> | undefined;
  #read: readonly PlacedRule[] | undefined;
  #set: RuleSet;

  constructor(own: readonly PlacedRule[], reader: Pick<ConfigurationReader, 'rules' | 'headFault'> | undefined) {
    this.#own = own;
    this.#reader = reader;
    this.#set = { rules: own, unknown: undefined };
  }

  /** The same object as long as the rules are the same. */
  get set(): RuleSet {
    const reading = this.#reader?.rules;
    if (reading?.state === 'unread') return { rules: this.#own, unknown: this.#whyUnread() };
    if (reading?.document !== this.#read) {
      this.#read = reading?.document;
      this.#set = { rules: [...this.#own, ...(this.#read ?? [])], unknown: undefined };
    }
    return this.#set;
  }

  /** Why the rules may not be those of the newest commit. They quote rules, which only admins may read. */
  get faults(): readonly Failure[] {
    const { rules, headFault } = this.#reader ?? {};
    return [...(headFault === undefined ? [] : [headFault]), ...(rules?.faults ?? [])];
  }

  /** Everybody who is refused for it gets to read this. */
  #whyUnread(): string {
    const state = this.faults.length === 0 ? 'has not been read yet' : 'could not be read';
    return `access.yaml of the configuration repository ${state}`;
  }
}
