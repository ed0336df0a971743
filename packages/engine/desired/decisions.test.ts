import { commitSha, completeReading, projectId, type Source, type SourceKind } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type Decided, Decisions } from './decisions.ts';

const shop = projectId('shop');

describe('decisions', () => {
  const decided = (kind: SourceKind, ref: string, because = 'it matches'): Decided => {
    const source = { project: shop, ref: { kind, name: ref }, commit: commitSha('1'.repeat(40)) };
    return { source, made: source, decision: { state: 'unwanted', because }, environment: undefined };
  };

  it('are kept apart by kind and name, whatever the name is', () => {
    const all = [decided('branch', 'v1'), decided('tag', 'v1'), decided('branch', '__proto__'), decided('tag', 'branch:v1')];
    const decisions = new Decisions(all);
    expect(all.map((one) => decisions.get(one.source.ref))).toEqual(all);
    expect(decisions.values()).toEqual(all);
    expect(decisions.get({ kind: 'tag', name: '__proto__' })).toBeUndefined();
  });

  it('know the sources and commits they are about', () => {
    const all = [decided('branch', 'a'), decided('tag', 'a')];
    const decisions = new Decisions(all);
    const [first, second] = all.map(({ source }) => structuredClone(source)) as [Source, Source];
    expect(decisions.areAbout(completeReading([first, second]))).toBe(true);
    expect(decisions.areAbout(completeReading([first]))).toBe(false);
    expect(decisions.areAbout(completeReading([second, first]))).toBe(false);
    expect(decisions.areAbout(completeReading([{ ...first, commit: commitSha('2'.repeat(40)) }, second]))).toBe(false);
    expect(decisions.areAbout(completeReading([{ ...first, ref: second.ref }, second]))).toBe(false);
    expect(new Decisions(all, 'mark').areAbout(completeReading([], 'mark'))).toBe(true);
    expect(new Decisions(all, 'mark').areAbout(completeReading([], 'other'))).toBe(false);
    expect(new Decisions().areAbout(completeReading([]))).toBe(true);
  });
});
