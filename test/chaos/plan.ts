import type { Boundaries } from './boundaries.ts';
import { shuffle } from './seeded-random.ts';
import type { Boundary } from './step-watch.ts';

export type Operation =
  | { readonly type: 'push'; readonly branch: string; readonly shape: string }
  | { readonly type: 'delete'; readonly branch: string };

/** When ephd is killed: some time after launch or after it is up, or exactly before or after a step. */
export type KillPoint =
  | { readonly kind: 'time'; readonly after: 'launch' | 'up'; readonly ms: number }
  | { readonly kind: 'boundary'; readonly boundary: Boundary };

/** One run of ephd: the operations on branches during it, and when it is killed. */
export interface Round {
  readonly operations: readonly {
    readonly operation: Operation /** After ephd is up; 0: before it is launched. */;
    readonly atMs: number;
  }[];
  readonly killPoint: KillPoint;
}

/** Some rounds, after which everything settles and is checked; then ephd is killed once more. */
export type Batch = readonly Round[];

export interface PlanOptions {
  /** What a branch can ask for. */
  readonly shapes: readonly string[];
  readonly boundaries: Boundaries;
  readonly kills: number;
  readonly random: () => number;
}

const branchChanges = ['create', 'update', 'delete'] as const;
type BranchChange = (typeof branchChanges)[number];

const killsPerBatch = 5;
const branches = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => `preview/${letter}`);
const mostAtOnce = 5;
/** As many as the deletion guard allows at once: with more, ephd would wait for an operator. */
const deletionsPerBatch = 5;
const latestKillMs = { launch: 1_000, up: 2_000 };
const latestOperationMs = 1_000;

/** A pure function of its options: the same seed and the same boundaries give the same plan. */
export const planRun = ({ shapes, boundaries, kills, random }: PlanOptions): readonly Batch[] => {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const alive = new Set<string>();
  const batches: Batch[] = [];
  let deletions = 0;
  let stops = 0;

  const anyShape = (): string => pick(shapes);
  const planOperation = (change: BranchChange): Operation => {
    const free = branches.filter((one) => !alive.has(one));
    if (alive.size === 0 || (change === 'create' && alive.size < mostAtOnce)) {
      const branch = pick(free);
      alive.add(branch);
      return { type: 'push', branch, shape: anyShape() };
    }
    const branch = pick([...alive]);
    if (change !== 'delete' || alive.size === 1 || deletions === deletionsPerBatch)
      return { type: 'push', branch, shape: anyShape() };
    alive.delete(branch);
    deletions += 1;
    return { type: 'delete', branch };
  };

  const planKillPoint = (): KillPoint => {
    const boundary = boundaries.lifecycle[stops % boundaries.lifecycle.length];
    if (boundary === undefined || random() < 0.3) {
      const after = random() < 0.3 ? 'launch' : 'up';
      return { kind: 'time', after, ms: Math.round(random() * latestKillMs[after]) };
    }
    stops += 1;
    return { kind: 'boundary', boundary };
  };

  const planRound = (killPoint: KillPoint): Round => {
    // One change of each kind, so that the step at which ephd is killed can happen.
    const chosen =
      killPoint.kind === 'boundary'
        ? shuffle(branchChanges, random)
        : Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(branchChanges));
    const times = chosen.map(() => (random() < 0.5 ? 0 : Math.round(random() * latestOperationMs))).toSorted((a, b) => a - b);
    const operations = chosen.map((change, index) => ({ operation: planOperation(change), atMs: times[index] ?? 0 }));
    return { operations, killPoint };
  };

  const first = spread(boundaries.firstStart, Math.floor(kills / 4));
  if (first.length > 0) batches.push(first.map((boundary) => planRound({ kind: 'boundary', boundary })));
  for (let left = kills - (first.length > 0 ? first.length + 1 : 0); left > 0; left -= killsPerBatch) {
    deletions = 0;
    batches.push(Array.from({ length: Math.min(left, killsPerBatch) - 1 }, () => planRound(planKillPoint())));
  }
  return batches;
};

/** At most `most` items, evenly spaced. */
const spread = <T>(items: readonly T[], most: number): readonly T[] => {
  const every = Math.max(1, items.length / most);
  return items.filter((_, index) => Math.floor(index / every) !== Math.floor((index - 1) / every)).slice(0, most);
};
