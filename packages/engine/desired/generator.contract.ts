import { commitSha, projectId, type Source, type SourceKind, type Trigger } from '@eph/contract';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Generator } from './generator.ts';

export interface GeneratorHarness {
  readonly generator: Generator;
  readonly trigger: Trigger;
  /** Sources the trigger asks for. */
  readonly wanted: readonly Source[];
  /** Sources it does not. */
  readonly unwanted: readonly Source[];
}

const anySource: fc.Arbitrary<Source> = fc.record({
  project: fc.constant(projectId('shop')),
  ref: fc.record({
    kind: fc.constantFrom<SourceKind>('branch', 'tag'),
    name: fc.string({ unit: 'binary', minLength: 1, maxLength: 255 }),
  }),
  commit: fc.constant(commitSha('0'.repeat(40))),
});

export const describeGenerator = (create: () => GeneratorHarness): void => {
  it('understands the trigger it was made for', () => {
    const { generator, trigger } = create();
    expect(generator.type).toBe(trigger.type);
  });

  it('wants what the trigger asks for, and nothing else', () => {
    const { generator, trigger, wanted, unwanted } = create();
    expect(wanted.filter((source) => !generator.wants(source, trigger).wanted)).toEqual([]);
    expect(unwanted.filter((source) => generator.wants(source, trigger).wanted)).toEqual([]);
  });

  it('says why: the rule and the fact, on one line', () => {
    const { generator, trigger, wanted, unwanted } = create();
    for (const source of [...wanted, ...unwanted]) {
      const { because } = generator.wants(source, trigger);
      expect(because).toContain(source.ref.kind);
      expect(because).toContain(source.ref.name);
      expect(because).not.toContain('\n');
    }
  });

  it('looks at what the source is called, not at where it stands', () => {
    const { generator, trigger, wanted } = create();
    for (const source of wanted)
      expect(generator.wants({ ...source, commit: commitSha('f'.repeat(40)) }, trigger)).toEqual(
        generator.wants(source, trigger),
      );
  });

  it('gives one answer to one question, for any source at all', () => {
    const { generator, trigger } = create();
    fc.assert(
      fc.property(anySource, (source) => {
        const answer = generator.wants(source, trigger);
        expect(create().generator.wants(structuredClone(source), structuredClone(trigger))).toEqual(answer);
        expect(answer.because).toMatch(/\S/);
      }),
    );
  });
};
