import { describe, expect, it } from 'vitest';
import { planRun, type Round } from './plan.ts';
import { seededRandom } from './seeded-random.ts';
import type { Boundary } from './step-watch.ts';

const boundary = (step: string): Boundary => ({ step, side: 'before', occurrence: 1 });
const boundaries = { firstStart: [boundary('a'), boundary('b'), boundary('c')], lifecycle: ['d', 'e', 'f', 'g'].map(boundary) };
const plan = (seed: number, kills = 100): readonly (readonly Round[])[] =>
  planRun({ shapes: ['page', 'pair'], boundaries, kills, random: seededRandom(seed) });

describe('the plan of a chaos run', () => {
  it('depends on the seed alone', () => {
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  it.each([1, 2, 5, 10, 99, 100])('kills %i times: once in every round and once after every batch', (kills) => {
    const batches = plan(7, kills);
    expect(batches.flat().length + batches.length).toBe(kills);
  });

  it('kills at every boundary, beginning with those of the first start in their order', () => {
    const stops = plan(7)
      .flat()
      .flatMap(({ killPoint }) => (killPoint.kind === 'boundary' ? [killPoint.boundary.step] : []));
    expect(stops.slice(0, 3)).toEqual(['a', 'b', 'c']);
    expect(new Set(stops)).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f', 'g']));
  });

  it('deletes only existing branches, and per batch no more than the deletion guard allows', () => {
    const alive = new Set<string>();
    for (const batch of plan(7, 500)) {
      const operations = batch.flatMap((round) => round.operations.map((one) => one.operation));
      expect(operations.filter((one) => one.type === 'delete').length).toBeLessThanOrEqual(5);
      const impossible = operations.filter(({ type, branch }) => (type === 'push' ? !alive.add(branch) : !alive.delete(branch)));
      expect(impossible).toEqual([]);
      expect(alive.size).toBeLessThanOrEqual(5);
    }
  });
});
