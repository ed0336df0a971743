import { completeReading, failure, type PinnedImage, type ProviderName, type Source, sourceKey } from '@eph/contract';
import type { Resolver } from '@eph/engine/images/resolver';
import type { GuardAnswer, GuardInput } from '@eph/engine/plan/guard';
import type { Provider } from '@eph/engine/provider/provider';
import type { Forge } from '@eph/engine/source/forge';

/** A fault put in on purpose, from outside the engine. The simulation has to find it. */
export interface Plant {
  readonly guard?: (input: GuardInput) => GuardAnswer;
  readonly forge?: (forge: Forge) => Forge;
  /** Called for each process. */
  readonly providers?: (providers: readonly Provider[]) => readonly Provider[];
  readonly resolver?: (resolver: Resolver) => Resolver;
  /** Two engines work at once. */
  readonly twoEngines?: boolean;
}

/** Permits every removal. */
const permitEverything = ({ candidates }: GuardInput): GuardAnswer => ({ permitted: new Set(candidates), held: new Set() });

/** Answers from the last listing when a source is read again before a removal. */
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
    committedAt: (...args) => forge.committedAt(...args),
    readNote: (...args) => forge.readNote(...args),
    watch: (...args) => forge.watch(...args),
  };
};

const change = (provider: Provider, changes: Partial<Provider>): Provider => ({
  name: provider.name,
  type: provider.type,
  holdsSecrets: provider.holdsSecrets,
  isolation: provider.isolation,
  list: (...args) => provider.list(...args),
  ensure: (...args) => provider.ensure(...args),
  remove: (...args) => provider.remove(...args),
  hold: (...args) => provider.hold(...args),
  usage: (...args) => provider.usage(...args),
  logs: (...args) => provider.logs(...args),
  exec: (...args) => provider.exec(...args),
  connect: (...args) => provider.connect(...args),
  watch: (...args) => provider.watch(...args),
  ...changes,
});

const each =
  (changesOf: (provider: Provider) => Partial<Provider>) =>
  (providers: readonly Provider[]): readonly Provider[] =>
    providers.map((provider) => change(provider, changesOf(provider)));

/** Reports a removal as done and removes nothing. */
const removeNothing = each(() => ({ remove: () => Promise.resolve() }));

/** Reports the removal of a component as done and leaves it, if another provider made it last. */
const leaveMoved = (providers: readonly Provider[]): readonly Provider[] => {
  const makers = new Map<string, ProviderName>();
  return each((provider) => ({
    ensure: (identity, component, signal) => {
      makers.set(`${identity.id}/${component.name}`, provider.name);
      return provider.ensure(identity, component, signal);
    },
    remove: (identity, component, signal) => {
      const maker = makers.get(`${identity.id}/${component}`) ?? provider.name;
      return maker === provider.name ? provider.remove(identity, component, signal) : Promise.resolve();
    },
  }))(providers);
};

/** Calls every listing of many environments complete that shows any. */
const hideIncomplete = each((provider) => ({
  list: async (scope, signal) => {
    const reading = await provider.list(scope, signal);
    return 'environment' in scope || reading.items.length === 0 ? reading : completeReading(reading.items);
  },
}));

/** Shows only the holds that this process has written. */
const forgetHolds = each((provider) => {
  const written = new Set<string>();
  return {
    hold: (identity, held, signal) => {
      written.add(identity.id);
      return provider.hold(identity, held, signal);
    },
    list: async (scope, signal) => {
      const reading = await provider.list(scope, signal);
      return { ...reading, items: reading.items.map((one) => ({ ...one, held: one.held && written.has(one.identity.id) })) };
    },
  };
});

/** Shows nothing, and calls that complete, while it is away, until it could be listed once. */
const startEmpty = each((provider) => {
  let isListed = false;
  return {
    list: async (scope, signal) => {
      const reading = await provider.list(scope, signal);
      isListed ||= 'all' in scope && reading.complete;
      return 'environment' in scope || isListed || reading.items.length > 0 ? reading : completeReading([]);
    },
  };
});

/** Takes the image that it found last, whatever the commit. */
const takeNewest = (resolver: Resolver): Resolver => {
  const newest = new Map<string, PinnedImage>();
  return {
    resolve: async (request, signal) => {
      const answer = await resolver.resolve(request, signal);
      if (answer.state === 'found') newest.set(request.image.repository, answer.image);
      const image = newest.get(request.image.repository);
      return answer.state === 'found' || image === undefined ? answer : { state: 'found', image, findings: [] };
    },
  };
};

/** Takes a registry that does not answer for one without the image. */
const takeFailureForMissing = (resolver: Resolver): Resolver => ({
  resolve: async (request, signal) => {
    const answer = await resolver.resolve(request, signal);
    if (answer.state !== 'unknown') return answer;
    return { ...answer, state: 'missing', fault: failure('artifact.missing', answer.fault.message) };
  },
});

export const plants = {
  none: {},
  'guard-off': { guard: permitEverything },
  'stale-source': { forge: answerFromListing },
  'leaky-removal': { providers: removeNothing },
  'two-daemons': { twoEngines: true },
  'moved-left-behind': { providers: leaveMoved },
  'partial-removal': { providers: hideIncomplete },
  'hold-lost': { providers: forgetHolds },
  'made-twice': { providers: startEmpty },
  'newest-image': { resolver: takeNewest },
  'failure-as-missing': { resolver: takeFailureForMissing },
} as const satisfies { readonly [name: string]: Plant };

export type PlantName = keyof typeof plants;
