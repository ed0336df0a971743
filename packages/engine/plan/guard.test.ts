import { type EnvironmentId, environmentId } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeletionBound, defaultDeletionBound, deletionLimit, type GuardInput, guardDeletions } from './guard.ts';

const id = (number: number): EnvironmentId => environmentId(number.toString(16).padStart(16, '0'));
const ids = (count: number, from = 0): readonly EnvironmentId[] => Array.from({ length: count }, (_, index) => id(from + index));

const question = (changes: Partial<GuardInput>): GuardInput => ({
  candidates: [],
  total: 20,
  vanished: false,
  complete: true,
  held: new Set(),
  written: new Set(ids(100)),
  unwrittenElsewhere: false,
  released: new Set(),
  first: false,
  bound: defaultDeletionBound,
  ...changes,
});

describe('the bound', () => {
  it.each<readonly [string, number, DeletionBound, number]>([
    ['is five for a small project', 3, defaultDeletionBound, 5],
    ['is five up to twenty-nine', 29, defaultDeletionBound, 5],
    ['is a fifth from there on', 30, defaultDeletionBound, 6],
    ['is rounded down', 34, defaultDeletionBound, 6],
    ['is a fifth of many', 1000, defaultDeletionBound, 200],
    ['can be set', 100, { atLeast: 1, share: 0 }, 1],
    ['can forbid everything', 100, { atLeast: 0, share: 0 }, 0],
    ['can allow everything', 100, { atLeast: 0, share: 1 }, 100],
  ])('%s', (_, total, bound, limit) => {
    expect(deletionLimit(total, bound)).toBe(limit);
  });
});

describe('the deletion guard', () => {
  it.each<readonly [string, Partial<GuardInput>, number, number]>([
    ['has nothing to say about nothing', {}, 0, 0],
    ['permits up to the bound', { candidates: ids(5) }, 5, 0],
    ['holds what exceeds the bound', { candidates: ids(8) }, 5, 3],
    ['counts the share of a large project', { candidates: ids(25), total: 100 }, 20, 5],
    ['permits nothing on an incomplete reading', { candidates: ids(3), complete: false }, 0, 0],
    [
      'permits nothing on an incomplete reading, released or not',
      { candidates: ids(3), complete: false, released: new Set(ids(3)) },
      0,
      0,
    ],
    ['keeps what it holds through an incomplete reading', { candidates: ids(3), complete: false, held: new Set(ids(2)) }, 0, 2],
    ['keeps what it held before', { candidates: ids(3), held: new Set(ids(3)) }, 0, 3],
    ['permits new ones beside those it holds', { candidates: ids(8), held: new Set(ids(4)) }, 4, 4],
    ['permits what an operator released', { candidates: ids(8), held: new Set(ids(8)), released: new Set(ids(2)) }, 2, 6],
    ['permits nothing before its holds are written', { candidates: ids(8), written: new Set(ids(2, 5)) }, 0, 3],
    [
      'permits up to the bound once they are',
      { candidates: ids(8), held: new Set(ids(3, 5)), written: new Set(ids(3, 5)) },
      5,
      3,
    ],
    [
      'permits what an operator released before other holds are written',
      { candidates: ids(8), held: new Set(ids(1)), released: new Set(ids(1)), written: new Set() },
      1,
      2,
    ],
    [
      'permits released ones over and above the bound',
      { candidates: ids(12), held: new Set(ids(6)), released: new Set(ids(6)) },
      11,
      1,
    ],
    ['forgets what is wanted again', { candidates: ids(1), held: new Set(ids(4, 1)), released: new Set(ids(4, 5)) }, 1, 0],
    ['permits up to the bound after a start', { candidates: ids(5), first: true }, 5, 0],
    ['holds all of too many after a start', { candidates: ids(6), first: true }, 0, 6],
    ['holds everything of a project of which nothing is left', { candidates: ids(3), total: 3, vanished: true }, 0, 3],
    ['lets the last two go', { candidates: ids(2), total: 2, vanished: true }, 2, 0],
    ['releases as ever when nothing is left', { candidates: ids(3), total: 3, vanished: true, released: new Set(ids(3)) }, 3, 0],
    ['releases as ever after a start', { candidates: ids(9), first: true, released: new Set(ids(1)) }, 1, 8],
  ])('%s', (_, changes, permitted, held) => {
    const answer = guardDeletions(question(changes));
    expect({ permitted: answer.permitted.size, held: answer.held.size }).toEqual({ permitted, held });
  });

  it('permits the first in the order it is given', () => {
    const { permitted, held } = guardDeletions(question({ candidates: ids(7) }));
    expect([...permitted]).toEqual(ids(5));
    expect([...held]).toEqual(ids(2, 5));
  });
});

describe('whatever is asked', () => {
  const some = fc.uniqueArray(fc.nat(30).map(id));
  const input: fc.Arbitrary<GuardInput> = fc.record({
    candidates: some,
    total: fc.nat(200),
    complete: fc.boolean(),
    vanished: fc.boolean(),
    held: some.map((all) => new Set(all)),
    written: some.map((all) => new Set(all)),
    unwrittenElsewhere: fc.boolean(),
    released: some.map((all) => new Set(all)),
    first: fc.boolean(),
    bound: fc.record({ atLeast: fc.nat(10), share: fc.constantFrom(0, 0.1, 0.2, 1) }),
  });
  const expectAlways = (law: (asked: GuardInput, answer: ReturnType<typeof guardDeletions>) => boolean): void =>
    fc.assert(
      fc.property(input, (asked) => law(asked, guardDeletions(asked))),
      { numRuns: 1000 },
    );

  it('never more than the bound is permitted without an operator', () => {
    expectAlways(
      ({ released, total, bound }, { permitted }) => permitted.difference(released).size <= deletionLimit(total, bound),
    );
  });

  it('nothing is permitted on an incomplete reading', () => {
    expectAlways(({ complete }, { permitted }) => complete || permitted.size === 0);
  });

  it('what is held stays held until it is released', () => {
    expectAlways(({ candidates, held, released }, answer) =>
      new Set(candidates).intersection(held).difference(released).isSubsetOf(answer.held),
    );
  });

  it('nothing is both permitted and held, and only candidates are either', () => {
    expectAlways(
      ({ candidates }, { permitted, held }) =>
        permitted.isDisjointFrom(held) && permitted.union(held).isSubsetOf(new Set(candidates)),
    );
  });

  it('a complete reading leaves no candidate undecided, once every hold is written', () => {
    expectAlways(
      ({ candidates, complete, written, unwrittenElsewhere }, { permitted, held }) =>
        !complete || unwrittenElsewhere || !held.isSubsetOf(written) || permitted.union(held).size === candidates.length,
    );
  });

  it('nothing is permitted without an operator while a hold is not written', () => {
    expectAlways(
      ({ released, written, unwrittenElsewhere }, { permitted, held }) =>
        (held.isSubsetOf(written) && !unwrittenElsewhere) || permitted.isSubsetOf(released),
    );
  });

  it('a released candidate goes at the next complete reading', () => {
    expectAlways(
      ({ candidates, released, complete }, { permitted }) =>
        !complete || new Set(candidates).intersection(released).isSubsetOf(permitted),
    );
  });

  it('however often it starts anew, a mass of deletions loses nobody', () => {
    fc.assert(
      fc.property(fc.integer({ min: 6, max: 25 }), fc.integer({ min: 1, max: 10 }), (count, starts) => {
        let left = ids(count);
        for (let round = 0; round < starts; round += 1) {
          const { permitted } = guardDeletions(question({ candidates: left, total: left.length, first: true }));
          left = left.filter((one) => !permitted.has(one));
        }
        expect(left).toHaveLength(count);
      }),
    );
  });
});
