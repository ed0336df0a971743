import { oneService, type Services, twoServices, worker } from '../e2e/sample-app.ts';
import type { Boundaries } from './boundaries.ts';
import { shuffle } from './seeded-random.ts';
import type { Boundary } from './step-watch.ts';

/** What a branch asks for: a page, a page with a service behind it, or something that does not listen. */
export const shapes = { page: oneService, pair: twoServices, worker } satisfies Readonly<Record<string, Services>>;
export type Shape = keyof typeof shapes;

export type Operation =
  | { readonly type: 'push'; readonly branch: string; readonly shape: Shape }
  | { readonly type: 'delete'; readonly branch: string };

/** When ephd is killed: some time after it was launched or came up, or exactly before or after a step. */
export type Moment =
  | { readonly kind: 'time'; readonly after: 'launch' | 'up'; readonly ms: number }
  | { readonly kind: 'boundary'; readonly boundary: Boundary };

/** One life of ephd: what happens to branches in it, and when it is cut off. */
export interface Round {
  readonly operations: readonly {
    readonly operation: Operation /** After ephd is up; 0: before it is launched. */;
    readonly atMs: number;
  }[];
  readonly moment: Moment;
}

/** Some rounds, after which everything is allowed to settle and is looked at; ephd is killed once more while it rests. */
export type Stretch = readonly Round[];

export interface PlanOptions {
  readonly boundaries: Boundaries;
  readonly kills: number;
  readonly random: () => number;
}

/** What may happen to branches. */
const wishes = ['come', 'change', 'go'] as const;
type Wish = (typeof wishes)[number];

const killsPerStretch = 5;
const branches = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((letter) => `preview/${letter}`);
const mostAtOnce = 5;
/** As many as the deletion guard lets go at once: with more, it would rightly wait for an operator. */
const deletionsPerStretch = 5;
const latestKillMs = { launch: 1_000, up: 2_000 };
const latestOperationMs = 1_000;

/** A pure function of its options: the same seed and the same boundaries give the same plan. */
export const planRun = ({ boundaries, kills, random }: PlanOptions): readonly Stretch[] => {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const alive = new Set<string>();
  const stretches: Stretch[] = [];
  let deletions = 0;
  let stops = 0;

  const anyShape = (): Shape => pick(Object.keys(shapes) as Shape[]);
  const planOperation = (wish: Wish): Operation => {
    const free = branches.filter((one) => !alive.has(one));
    if (alive.size === 0 || (wish === 'come' && alive.size < mostAtOnce)) {
      const branch = pick(free);
      alive.add(branch);
      return { type: 'push', branch, shape: anyShape() };
    }
    const branch = pick([...alive]);
    if (wish !== 'go' || alive.size === 1 || deletions === deletionsPerStretch)
      return { type: 'push', branch, shape: anyShape() };
    alive.delete(branch);
    deletions += 1;
    return { type: 'delete', branch };
  };

  const planMoment = (): Moment => {
    const boundary = boundaries.life[stops % boundaries.life.length];
    if (boundary === undefined || random() < 0.3) {
      const after = random() < 0.3 ? 'launch' : 'up';
      return { kind: 'time', after, ms: Math.round(random() * latestKillMs[after]) };
    }
    stops += 1;
    return { kind: 'boundary', boundary };
  };

  const planRound = (moment: Moment): Round => {
    // Some of everything, so that there is an occasion for the step at which ephd is to be stopped.
    const chosen =
      moment.kind === 'boundary'
        ? shuffle(wishes, random)
        : Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(wishes));
    const times = chosen.map(() => (random() < 0.5 ? 0 : Math.round(random() * latestOperationMs))).toSorted((a, b) => a - b);
    const operations = chosen.map((wish, index) => ({ operation: planOperation(wish), atMs: times[index] ?? 0 }));
    return { operations, moment };
  };

  const first = spread(boundaries.firstStart, Math.floor(kills / 4));
  if (first.length > 0) stretches.push(first.map((boundary) => planRound({ kind: 'boundary', boundary })));
  for (let left = kills - (first.length > 0 ? first.length + 1 : 0); left > 0; left -= killsPerStretch) {
    deletions = 0;
    stretches.push(Array.from({ length: Math.min(left, killsPerStretch) - 1 }, () => planRound(planMoment())));
  }
  return stretches;
};

/** At most so many of them, from beginning to end. */
const spread = <T>(items: readonly T[], most: number): readonly T[] => {
  const every = Math.max(1, items.length / most);
  return items.filter((_, index) => Math.floor(index / every) !== Math.floor((index - 1) / every)).slice(0, most);
};
