import {
  type EnvironmentName,
  environmentId,
  environmentName,
  failure,
  type ObservedEnvironment,
  type ProjectId,
  type ProviderName,
  projectId,
  providerName,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../provider/observe.ts';
import { Records } from './records.ts';

const shop = projectId('shop');
const name = (text: string): EnvironmentName => environmentName(text);
const id = (number: number) => environmentId(String(number).padStart(16, '0'));

const fresh = (number: number, changes: { readonly project?: ProjectId; readonly name?: EnvironmentName } = {}) => ({
  id: id(number),
  project: shop,
  ref: { kind: 'branch', name: `preview/${number}` } as const,
  name: name(`env-${number}`),
  decision: { state: 'unwanted', because: 'it is gone' } as const,
  source: undefined,
  head: undefined,
  observed: undefined,
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
    const records = new Records();
    const [first, second] = [records.add(fresh(1)), records.add(fresh(2, { project: projectId('blog') }))];
    expect(records.get(id(1))).toBe(first);
    expect([...records.all()]).toEqual([first, second]);
    expect([...records.project(shop).environments.keys()]).toEqual([id(1)]);
  });

  it('is forgotten altogether', () => {
    const records = new Records();
    const one = records.add(fresh(1));
    records.project(shop).released.add(one.id);
    records.forget(one);
    expect(records.get(one.id)).toBeUndefined();
    expect(records.project(shop).environments.size).toBe(0);
    expect(records.project(shop).released.size).toBe(0);
    expect(records.isNameTaken(one.name, id(2))).toBe(false);
  });
});

describe('a name', () => {
  const listing = (incomplete: readonly ProviderName[], ...items: ObservedEnvironment[]) => ({
    items,
    incomplete: new Map(incomplete.map((one) => [one, failure('provider.unreachable', 'no answer')])),
  });
  const providers = [providerName('process'), providerName('local')] as const;
  const facts = { at: 0, providers, names: true };

  it('is taken for others by the environment that has it', () => {
    const records = new Records();
    records.add(fresh(1));
    expect(records.isNameTaken(name('env-1'), id(2))).toBe(true);
    expect(records.isNameTaken(name('env-1'), id(1))).toBe(false);
    expect(records.isNameTaken(name('env-2'), id(2))).toBe(false);
  });

  it('that was given up is free again', () => {
    const records = new Records();
    const one = records.add(fresh(1));
    records.rename(one, name('other'));
    expect(one.name).toBe('other');
    expect(records.isNameTaken(name('env-1'), id(2))).toBe(false);
    expect(records.isNameTaken(name('other'), id(2))).toBe(true);
  });

  it('follows what is written on the infrastructure', () => {
    const records = new Records();
    const one = records.add(fresh(1));
    records.update(one, { observed: seen(1, 'written') });
    expect(one.name).toBe('written');
    expect(records.isNameTaken(name('env-1'), id(2))).toBe(false);
  });

  it('that two have stays taken while one of them has it', () => {
    const records = new Records();
    const [, second] = [records.add(fresh(1, { name: name('same') })), records.add(fresh(2, { name: name('same') }))];
    records.forget(second);
    expect(records.isNameTaken(name('same'), id(3))).toBe(true);
  });

  it('is taken by what exists, even before it has a record', () => {
    const records = new Records();
    records.noteListing(listing([], seen(1, 'existing')), facts);
    expect(records.isNameTaken(name('existing'), id(2))).toBe(true);
    expect(records.isNameTaken(name('existing'), id(1))).toBe(false);
  });

  it('is taken by what exists, even while its record has another one', () => {
    const records = new Records();
    records.add(fresh(1));
    records.noteListing(listing([], seen(1, 'older')), facts);
    expect(records.isNameTaken(name('older'), id(2))).toBe(true);
    expect(records.isNameTaken(name('older'), id(1))).toBe(false);
  });

  it('may be in use where a provider has not been read since the start', () => {
    const records = new Records();
    expect(records.haveBeenRead(providers)).toBe(false);
    records.noteListing(listing([providers[1]]), facts);
    expect(records.haveBeenRead(providers)).toBe(false);
    expect(records.haveBeenRead([providers[0]])).toBe(true);
    expect([...records.away.keys()]).toEqual([providers[1]]);
    records.noteListing(listing([providers[0]]), facts);
    expect(records.haveBeenRead(providers)).toBe(true);
  });
});

describe('the share of a project in a listing', () => {
  const listing = (): Observation => ({ items: [], incomplete: new Map() });

  it('is used once', () => {
    const records = new Records();
    const share = listing();
    records.putListing(shop, share);
    expect(records.takeListing(projectId('blog'))).toBeUndefined();
    expect(records.takeListing(shop)).toBe(share);
    expect(records.takeListing(shop)).toBeUndefined();
  });

  it('is the newest', () => {
    const records = new Records();
    const newest = listing();
    records.putListing(shop, listing());
    records.putListing(shop, newest);
    expect(records.takeListing(shop)).toBe(newest);
  });
});
