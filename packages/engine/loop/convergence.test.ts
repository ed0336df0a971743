import {
  type Action,
  type CommitSha,
  commitSha,
  EphError,
  environmentId,
  environmentName,
  type Identity,
  noConfiguration,
  type ObservedEnvironment,
  projectId,
  type Source,
} from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planDestroy, planUpdate } from '../plan/diff.ts';
import { apply } from '../provider/apply.ts';
import { Observer } from '../provider/observe.ts';
import { createFakeInfrastructure, FakeProvider } from '../provider/provider.fake.ts';
import { ManualClock } from '../time/clock.fake.ts';
import { parseSound } from '../values/component-input.fake.ts';
import type { SpecFile } from '../values/component-layers.ts';
import { computeComponents } from '../values/components.ts';
import { chooseProviders } from '../values/providers.ts';

const startMs = 1000;
const { signal } = new AbortController();

interface Request {
  readonly commit: CommitSha;
  readonly file: SpecFile;
}

/** One environment, observed and changed again and again, as the loop does it. */
class Fixture {
  readonly clock = new ManualClock();
  readonly infrastructure = createFakeInfrastructure();
  /** Whether the next effect fails, and on which side of taking hold. */
  trouble: (moment: 'before' | 'after') => boolean = () => false;
  readonly provider = new FakeProvider(this.infrastructure, {
    now: () => this.clock.now(),
    startMs,
    disturb: (operation, moment) =>
      operation !== 'list' && moment !== 'during' && this.trouble(moment)
        ? Promise.reject(new EphError('provider.unreachable', 'not now'))
        : Promise.resolve(),
  });
  readonly identity: Identity = {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: projectId('shop'),
    source: { kind: 'branch', name: 'preview/a' },
    createdAt: new Date(this.clock.now()).toISOString(),
  };

  async observe(): Promise<ObservedEnvironment | undefined> {
    const observer = new Observer([this.provider], (ms, callback) => this.clock.after(ms, callback));
    return (await observer.environment(this.identity.id, signal)).observed;
  }

  async round({ commit, file }: Request): Promise<readonly Action[]> {
    const observed = await this.observe();
    const source: Source = { project: projectId('shop'), ref: this.identity.source, commit };
    const { components: desired } = computeComponents({
      file,
      layers: noConfiguration,
      variables: {},
      outputsOf: () => undefined,
      hasOwnNetwork: () => false,
      providers: chooseProviders(file, [{ name: this.provider.name, type: 'process', holdsSecrets: false }], [], {}),
      source,
      identity: this.identity,
      url: '',
      images: new Map(),
      observed: observed?.components ?? [],
    });
    const actions = planUpdate(desired, observed, { now: this.clock.now(), retired: new Set() });
    const components = desired.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));
    await this.#apply(actions, components);
    return actions;
  }

  async removalRound(): Promise<readonly Action[]> {
    const observed = await this.observe();
    const actions = observed === undefined ? [] : planDestroy(observed, 'the branch is gone');
    await this.#apply(actions, []);
    return actions;
  }

  /** Repeats a round until it finds nothing to do, and says how many it took. */
  async settle(round: () => Promise<readonly Action[]>, most: number): Promise<number> {
    for (let count = 0; count <= most; count += 1) if ((await round()).length === 0) return count;
    return Number.POSITIVE_INFINITY;
  }

  /** What really runs: component → commit that has the traffic. */
  running(): Record<string, CommitSha | undefined> {
    const slots = this.infrastructure.environments.get(this.identity.id)?.slots ?? new Map();
    return Object.fromEntries(
      [...slots].map(([name, slot]) => [
        name,
        slot.next === undefined && slot.retiring === undefined ? slot.current?.component.commit : undefined,
      ]),
    );
  }

  async #apply(actions: readonly Action[], components: Parameters<typeof apply>[0]['components']): Promise<void> {
    await apply(
      { identity: this.identity, actions, components, providers: new Map([[this.provider.name, this.provider]]) },
      signal,
    );
    this.clock.advance(startMs);
  }
}

/** Up to eight services in any order, each needing some that were named before it, by output or by order alone. */
const anySpec = fc
  .uniqueArray(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), fc.array(fc.nat(), { maxLength: 3 }), fc.boolean()),
    {
      selector: ([name]) => name,
      minLength: 1,
    },
  )
  .chain((drawn) => {
    const services = drawn.map(([name, picks, byOutput], index) => {
      const needs = index === 0 ? [] : [...new Set(picks.map((pick) => drawn[pick % index]?.[0] as string))];
      const outputs = Object.fromEntries(needs.map((need) => [`${need.toUpperCase()}_URL`, `outputs/${need}/url`]));
      return [name, { command: 'run', ...(byOutput ? { env: outputs } : { depends_on: needs }) }] as const;
    });
    return fc.shuffledSubarray(services, { minLength: services.length });
  })
  .map(
    (services): SpecFile =>
      parseSound(JSON.stringify({ version: '1.0', name: 'shop', process: { services: Object.fromEntries(services) } })),
  );

const requests = fc
  .array(anySpec, { minLength: 1, maxLength: 3 })
  .map((specs): readonly Request[] => specs.map((file, index) => ({ file, commit: commitSha(String(index).padStart(40, '0')) })));

/** A chain of eight starts one after the other, hands over, drains and is tidied up. */
const mostRounds = 40;

const asRequested = ({ file, commit }: Request): Record<string, CommitSha> =>
  Object.fromEntries(file.components.map(({ name }) => [name, commit]));

describe('observing, planning and applying, again and again', () => {
  it('makes every graph of components real, and then finds nothing to do', async () => {
    await fc.assert(
      fc.asyncProperty(anySpec, async (file) => {
        const fixture = new Fixture();
        const request = { file, commit: commitSha('0'.repeat(40)) };
        expect(await fixture.settle(() => fixture.round(request), mostRounds)).toBeLessThanOrEqual(mostRounds);
        expect(fixture.running()).toEqual(asRequested(request));
        expect(fixture.provider.calls.ensure).toBe(file.components.length);
        expect(await fixture.round(request)).toEqual([]);
      }),
    );
  });

  it('follows from one commit to the next, and leaves nothing of the one before', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        const fixture = new Fixture();
        for (const request of all) {
          expect(await fixture.settle(() => fixture.round(request), mostRounds)).toBeLessThanOrEqual(mostRounds);
          expect(fixture.running()).toEqual(asRequested(request));
        }
      }),
    );
  });

  it('gets there from anywhere on the way to somewhere else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(anySpec, fc.nat(6)), { minLength: 2, maxLength: 4 }), async (changes) => {
        const fixture = new Fixture();
        const last = changes.length - 1;
        for (const [index, [file, rounds]] of changes.entries()) {
          const request = { file, commit: commitSha(String(index).padStart(40, '0')) };
          for (let count = 0; count < rounds; count += 1) await fixture.round(request);
          if (index < last) continue;
          expect(await fixture.settle(() => fixture.round(request), mostRounds)).toBeLessThanOrEqual(mostRounds);
          expect(fixture.running()).toEqual(asRequested(request));
        }
      }),
    );
  });

  it('gets there although effects fail, before and after they take hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        requests,
        fc.array(fc.constantFrom('before', 'after', 'not at all'), { maxLength: 30 }),
        async (all, troubles) => {
          const fixture = new Fixture();
          const left = troubles.values();
          fixture.trouble = (moment) => left.next().value === moment;
          const request = all.at(-1) as Request;
          for (const one of all) await fixture.round(one);
          expect(await fixture.settle(() => fixture.round(request), mostRounds + troubles.length)).not.toBe(
            Number.POSITIVE_INFINITY,
          );
          expect(fixture.running()).toEqual(asRequested(request));
        },
      ),
    );
  });

  it('leaves nothing when nothing is wanted any more, however far it had come', async () => {
    await fc.assert(
      fc.asyncProperty(requests, fc.nat(10), fc.boolean(), async (all, rounds, troubled) => {
        const fixture = new Fixture();
        for (const request of all) for (let count = 0; count < rounds; count += 1) await fixture.round(request);
        let effects = 0;
        fixture.trouble = () => {
          effects += 1;
          return troubled && effects % 3 === 0;
        };
        expect(await fixture.settle(() => fixture.removalRound(), mostRounds)).not.toBe(Number.POSITIVE_INFINITY);
        expect(fixture.infrastructure.environments.size).toBe(0);
      }),
    );
  });
});
