import type { Source, Trigger } from '@eph/contract';

/**
 * Decides whether a source wants an environment under one kind of trigger.
 *
 * Contract
 * - Pure: the same source and trigger give the same answer.
 * - `because` is the sentence `eph why` prints: it names the rule and the fact.
 */
export interface Generator {
  /** The trigger type it understands. */
  readonly type: Trigger['type'];
  wants(source: Source, trigger: Trigger): { readonly wanted: boolean; readonly because: string };
}
