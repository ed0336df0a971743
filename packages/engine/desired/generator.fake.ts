import type { Source, Trigger } from '@eph/contract';
import type { Generator } from './generator.ts';

/** Keeps the contract of a generator with any rule. */
export const fakeGenerator = (type: Trigger['type'], wantsSource: (source: Source) => boolean): Generator => ({
  type,
  wants(source) {
    const wanted = wantsSource(source);
    const { kind, name } = source.ref;
    return { wanted, because: `${kind} ${name} is ${wanted ? '' : 'not '}what trigger ${type} looks for` };
  },
});
