import type { Source, Trigger } from '@eph/contract';
import type { Generator } from './generator.ts';
import { printSource } from './printed-names.ts';

/** Keeps the contract of a generator with any rule. */
export const fakeGenerator = (type: Trigger['type'], wantsSource: (source: Source) => boolean): Generator => ({
  type,
  wants(source) {
    const wanted = wantsSource(source);
    return { wanted, because: `${printSource(source.ref)} is ${wanted ? '' : 'not '}matched by trigger ${type}` };
  },
});
