import {
  commitSha,
  completeReading,
  type EnvironmentName,
  environmentId,
  environmentName,
  incompleteReading,
  type ObservedEnvironment,
  projectId,
  type Source,
  type SourceKind,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createRecord, type Decided, Decisions, type EnvironmentRecord, Memory } from './memory.ts';

const shop = projectId('shop');
const name = (text: string): EnvironmentName => environmentName(text);
const id = (number: number) => environmentId(String(number).padStart(16, '0'));

const known = (number: number, changes: Partial<EnvironmentRecord> = {}): EnvironmentRecord => ({
  ...createRecord({
    id: id(number),
    project: shop,
    ref: { kind: 'branch', name: `preview/${number}` },
    name: name(`env-${number}`),
    decision: { state: 'unwanted', because: 'it is gone' },
    source: undefined,
    observed: undefined,
  }),
  ...changes,
});

const seen = (number: number, called: string): ObservedEnvironment => ({
  identity: {
    id: id(number),
    name: name(called),
    project: shop,
    source: { kind: 'branch', name: 'x' },
    createdAt: '2026-01-05T09:00:00.000Z',
  },
  components: [],
  held: false,
  complete: true,
  mark: '',
});

describe('an environment', () => {
  it('is found by its id, and with its project', () => {
    const memory = new Memory();
    const [first, second] = [known(1), known(2, { project: projectId('blog') })];
    for (const one of [first, second]) memory.remember(one);
    expect(memory.get(id(1))).toBe(first);
    expect([...memory.environments()]).toEqual([first, second]);
    expect([...memory.project(shop).environments.keys()]).toEqual([id(1)]);
  });

  it('is forgotten altogether', () => {
    const memory = new Memory();
    const one = known(1);
    memory.remember(one);
    memory.project(shop).released.add(one.id);
    memory.forget(one);
    expect(memory.get(one.id)).toBeUndefined();
    expect(memory.project(shop).environments.size).toBe(0);
    expect(memory.project(shop).released.size).toBe(0);
    expect(memory.isNameTaken(one.name, id(2))).toBe(false);
  });
});

describe('a name', () => {
  it('is taken for others by whoever has it', () => {
    const memory = new Memory();
    memory.remember(known(1));
    expect(memory.isNameTaken(name('env-1'), id(2))).toBe(true);
    expect(memory.isNameTaken(name('env-1'), id(1))).toBe(false);
    expect(memory.isNameTaken(name('env-2'), id(2))).toBe(false);
  });

  it('that was given up is free again', () => {
    const memory = new Memory();
    const one = known(1);
    memory.remember(one);
    memory.rename(one, name('other'));
    expect(one.name).toBe('other');
    expect(memory.isNameTaken(name('env-1'), id(2))).toBe(false);
    expect(memory.isNameTaken(name('other'), id(2))).toBe(true);
  });

  it('that two have stays taken while one of them has it', () => {
    const memory = new Memory();
    const [first, second] = [known(1, { name: name('same') }), known(2, { name: name('same') })];
    for (const one of [first, second]) memory.remember(one);
    memory.forget(second);
    expect(memory.isNameTaken(name('same'), id(3))).toBe(true);
  });

  it('is taken by what exists, even before anybody has looked at it', () => {
    const memory = new Memory();
    expect(memory.knowsNames).toBe(false);
    memory.learnNames([seen(1, 'existing')]);
    expect(memory.knowsNames).toBe(true);
    expect(memory.isNameTaken(name('existing'), id(2))).toBe(true);
    expect(memory.isNameTaken(name('existing'), id(1))).toBe(false);
  });
});

describe('what a pass saw of a project', () => {
  it('is used once', () => {
    const memory = new Memory();
    const reading = completeReading([]);
    memory.putSnapshot(shop, reading);
    expect(memory.takeSnapshot(projectId('blog'))).toBeUndefined();
    expect(memory.takeSnapshot(shop)).toBe(reading);
    expect(memory.takeSnapshot(shop)).toBeUndefined();
  });

  it('is the newest', () => {
    const memory = new Memory();
    memory.putSnapshot(shop, completeReading([]));
    const newest = incompleteReading<ObservedEnvironment>([]);
    memory.putSnapshot(shop, newest);
    expect(memory.takeSnapshot(shop)).toBe(newest);
  });
});

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
