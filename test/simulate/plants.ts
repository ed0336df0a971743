import { type Source, sourceKey } from '@eph/contract';
import type { GuardAnswer, GuardInput } from '@eph/engine/plan/guard';
import type { Provider } from '@eph/engine/provider/provider';
import type { Forge } from '@eph/engine/source/forge';

/** A fault put in on purpose, by wiring alone: a simulation that does not find it proves nothing. */
export interface Plant {
  readonly guard?: (input: GuardInput) => GuardAnswer;
  readonly forge?: (forge: Forge) => Forge;
  readonly provider?: (provider: Provider) => Provider;
  /** Two daemons reconcile at once. */
  readonly twins?: boolean;
}

/** Everything may go, however much and however little is known. */
const permitEverything = ({ candidates }: GuardInput): GuardAnswer => ({ permitted: new Set(candidates), held: new Set() });

/** Answers the question that is asked before a removal from the last listing instead of reading the source again. */
const answerFromListing = (forge: Forge): Forge => {
  let listed = new Map<string, Source>();
  return {
    project: forge.project,
    sources: async (signal) => {
      const reading = await forge.sources(signal);
      listed = new Map(reading.items.map((source) => [sourceKey(source.ref), source]));
      return reading;
    },
    source: async (ref, signal) => {
      await forge.source(ref, signal);
      const source = listed.get(sourceKey(ref));
      return source === undefined ? { state: 'gone' } : { state: 'present', source };
    },
    readFile: (...args) => forge.readFile(...args),
    exportTree: (...args) => forge.exportTree(...args),
    watch: (...args) => forge.watch(...args),
  };
};

/** Says that a component is gone, and leaves it. */
const leaveBehind = (provider: Provider): Provider => ({
  name: provider.name,
  list: (...args) => provider.list(...args),
  ensure: (...args) => provider.ensure(...args),
  remove: () => Promise.resolve(),
  logs: (...args) => provider.logs(...args),
  watch: (...args) => provider.watch(...args),
});

export const plants = {
  none: {},
  'guard-off': { guard: permitEverything },
  'stale-source': { forge: answerFromListing },
  'leaky-removal': { provider: leaveBehind },
  'two-daemons': { twins: true },
} as const satisfies { readonly [name: string]: Plant };

export type PlantName = keyof typeof plants;
