import { commitSha, type Source, type Trigger } from '@eph/contract';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer, Generator, SourceFacts } from './generator.ts';
import { printSource } from './printed-names.ts';
import { anySource, completeFacts, partialFacts } from './source.fake.ts';

export interface GeneratorHarness {
  readonly generator: Generator;
  readonly trigger: Trigger;
  /** What is known of every source besides itself. */
  readonly facts?: SourceFacts;
  /** Sources the trigger asks for. */
  readonly wanted: readonly Source[];
  /** Sources it does not. */
  readonly unwanted: readonly Source[];
  /** Whether what wants an environment goes on wanting it at the commit it was asked for. */
  readonly pinned?: boolean;
}

export const describeGenerator = (create: () => GeneratorHarness): void => {
  const ask = ({ generator, trigger, facts }: GeneratorHarness, source: Source): Answer =>
    generator.wants(source, trigger, facts);

  it('understands the trigger it was made for', () => {
    const { generator, trigger } = create();
    expect(generator.type).toBe(trigger.type);
  });

  it('wants what the trigger asks for, and nothing else', () => {
    const harness = create();
    expect(harness.wanted.filter((source) => ask(harness, source).wanted !== true)).toEqual([]);
    expect(harness.unwanted.filter((source) => ask(harness, source).wanted !== false)).toEqual([]);
  });

  it('says why: the rule and the fact, on one line', () => {
    const harness = create();
    for (const source of [...harness.wanted, ...harness.unwanted]) {
      const { because } = ask(harness, source);
      expect(because).toContain(printSource(source.ref));
      expect(because).not.toContain('\n');
    }
  });

  it('does not depend on the commit of the source, unless a command names one', () => {
    const harness = create();
    for (const source of harness.wanted) {
      const moved = ask(harness, { ...source, commit: commitSha('e'.repeat(40)) });
      expect(moved.wanted).toBe(true);
      expect('at' in moved ? moved.at : undefined).toBe(harness.pinned === true ? source.commit : undefined);
    }
  });

  it('gives one answer to one question, for any source at all', () => {
    const { generator, trigger } = create();
    fc.assert(
      fc.property(anySource, completeFacts, (source, facts) => {
        const answer = generator.wants(source, trigger, facts);
        const [sameSource, sameTrigger, sameFacts] = structuredClone([source, trigger, facts] as const);
        expect(create().generator.wants(sameSource, sameTrigger, sameFacts)).toEqual(answer);
      }),
    );
  });

  it('says why in one short line, whatever names there are', () => {
    const { generator, trigger } = create();
    fc.assert(
      fc.property(anySource, completeFacts, (source, facts) => {
        const { because } = generator.wants(source, trigger, facts);
        expect(because).toMatch(/^[^\p{Cc}\p{Cs}\u202a-\u202e]*\S[^\p{Cc}\p{Cs}\u202a-\u202e]*$/u);
        expect(because.length).toBeLessThan(2000);
      }),
    );
  });

  it('decides when it knows all facts, and never denies because a fact is missing', () => {
    const { generator, trigger } = create();
    const question = fc
      .tuple(anySource, completeFacts)
      .chain(([source, whole]) => fc.tuple(fc.constant(source), fc.constant(whole), partialFacts(whole)));
    fc.assert(
      fc.property(question, ([source, whole, part]) => {
        const [knowing, guessing] = [generator.wants(source, trigger, whole), generator.wants(source, trigger, part)];
        expect(knowing.wanted).not.toBe('unknown');
        expect([knowing.wanted, 'unknown']).toContain(guessing.wanted);
        const lacks = guessing.wanted === 'unknown' ? guessing.lacks : undefined;
        expect(lacks === undefined ? undefined : part[lacks]).toBeUndefined();
      }),
    );
  });
};
