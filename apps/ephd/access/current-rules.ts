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

  /** Why the rules may not be those of the newest commit. */
  get faults(): readonly Failure[] {
    const { rules, headFault } = this.#reader ?? {};
    return [...(headFault === undefined ? [] : [headFault]), ...(rules?.faults ?? [])];
  }

  #whyUnread(): string {
    return this.faults[0]?.message ?? 'access.yaml of the configuration repository has not been read yet';
  }
}
