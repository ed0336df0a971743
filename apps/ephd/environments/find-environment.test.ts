import { type EnvironmentId, environmentName, type ProjectId, projectId } from '@eph/contract';
import { EngineHarness, shop } from '@eph/engine/loop/engine-harness.fake';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../api/handlers.ts';
import { LocatedRefusal } from '../api/located-refusal.ts';
import { createReadyRecord } from '../environment-record.fake.ts';
import { type Directory, findEnvironment } from './find-environment.ts';

const bank = projectId('bank');
const everybody: Pick<Caller, 'may'> = { may: () => true };
const ofShop: Pick<Caller, 'may'> = { may: (_, project) => project === shop };

const named = (name: string, project = shop): EnvironmentRecord =>
  createReadyRecord(`preview/${name}`, { name: environmentName(name), project });

interface Known {
  readonly alias?: readonly [alias: string, of: EnvironmentRecord];
  readonly unread?: readonly ProjectId[];
  readonly providers?: boolean;
  readonly knowsProjects?: boolean;
}

const directoryOf = (records: readonly EnvironmentRecord[], known: Known = {}): Directory => ({
  engine: {
    environmentsByName: () => records.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    environment: (id: EnvironmentId) => records.find((one) => one.id === id),
    findEnvironment: (text) => records.find(({ id, name }) => id === text || name === text),
    unsurveyed: () => ({ providers: known.providers ?? false, projects: known.unread ?? [] }),
  },
  ownerOf: (label) => (label === known.alias?.[0] ? known.alias[1].id : undefined),
  knowsProjects: known.knowsProjects ?? true,
});

const find = (text: string, directory: Directory, caller = everybody): EnvironmentRecord =>
  findEnvironment(text, directory, caller);

const failureOf = (text: string, directory: Directory, caller = everybody) => {
  try {
    find(text, directory, caller);
  } catch (error) {
    return error;
  }
  throw new Error(`${text} was found`);
};

const ocean = named('shop-ocean-1');
const vault = named('shop-vault-2', bank);

describe('an environment', () => {
  it.each([
    ['its id', ocean.id],
    ['its name', ocean.name],
    ['its alias', 'shop-pr-7'],
  ])('is found by %s', (_, text) => {
    expect(find(text, directoryOf([vault, ocean], { alias: ['shop-pr-7', ocean] }))).toBe(ocean);
  });

  it('that the caller may not see is as one that does not exist, except in the audit history', () => {
    const directory = directoryOf([ocean, vault]);
    const hidden = failureOf('shop-vault-2', directory, ofShop);
    const absent = failureOf('shop-vault-3', directory, ofShop);
    expect(hidden).toMatchObject({ code: 'api.not_found', message: 'there is no environment "shop-vault-2"' });
    expect(absent).toMatchObject({ code: 'api.not_found', message: 'there is no environment "shop-vault-3"' });
    expect(hidden instanceof LocatedRefusal && hidden.located.project).toBe(bank);
    expect(absent instanceof LocatedRefusal).toBe(false);
  });

  it.each<readonly [string, Known]>([
    ['a project of the caller has not been read', { unread: [bank, shop] }],
    ['providers have not been read', { providers: true }],
    ['it is not known which projects there are', { knowsProjects: false }],
  ])('is neither there nor gone while %s', (_, known) => {
    const directory = directoryOf([ocean, vault], known);
    expect(find('shop-ocean-1', directory, ofShop)).toBe(ocean);
    const hidden = failureOf('shop-vault-2', directory, ofShop);
    const absent = failureOf('shop-vault-3', directory, ofShop);
    expect(hidden).toMatchObject({
      code: 'api.starting',
      message: expect.stringContaining('"shop-vault-2"'),
      retryAfterMs: 1_000,
    });
    expect(absent).toMatchObject({
      code: 'api.starting',
      message: expect.stringContaining('"shop-vault-3"'),
      retryAfterMs: 1_000,
    });
    expect(hidden instanceof LocatedRefusal && hidden.located.project).toBe(bank);
  });

  it('does not exist for the caller although a project that they may not see has not been read', () => {
    expect(failureOf('shop-x', directoryOf([ocean], { unread: [bank] }), ofShop)).toMatchObject({ code: 'api.not_found' });
  });

  it('is suggested where a name is nearly right, if the caller may see it', () => {
    const directory = directoryOf([ocean, vault]);
    expect(failureOf('shop-ocaen-1', directory)).toMatchObject({
      message: 'there is no environment "shop-ocaen-1"; did you mean shop-ocean-1?',
    });
    expect(failureOf('shop-vualt-2', directory, ofShop)).toMatchObject({ message: 'there is no environment "shop-vualt-2"' });
  });

  it('is suggested among many where its name begins alike, at the price of few comparisons and one decision for each project', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => named(`shop-${String(index).padStart(4, '0')}-elm`));
    const asked: (ProjectId | undefined)[] = [];
    const may: Caller['may'] = (_, project) => {
      asked.push(project);
      return true;
    };
    const directory = directoryOf([...many, vault]);
    expect(failureOf('shop-1234-emm', directory, { may })).toMatchObject({
      message: expect.stringContaining('did you mean shop-1234-elm?'),
    });
    expect([asked.length, new Set(asked)]).toEqual([2, new Set([bank, shop])]);
    // That one is far away in the alphabet.
    expect(failureOf('zhop-1234-elm', directory)).not.toMatchObject({ message: expect.stringContaining('shop-1234-elm') });
  });
});

describe('an engine that has just started', () => {
  it('says what it has not read completely yet', async () => {
    const harness = new EngineHarness();
    onTestFinished(() => harness.engine.close());
    harness.away.add('process');
    harness.start([shop, bank]);
    harness.push('preview/a');
    expect(harness.engine.unsurveyed()).toEqual({ providers: true, projects: [shop, bank] });
    await harness.live(60);
    expect(harness.engine.unsurveyed()).toEqual({ providers: true, projects: [shop, bank] });
    harness.away.clear();
    await harness.live(600);
    expect(harness.engine.unsurveyed()).toEqual({ providers: false, projects: [] });
    const { id, name } = harness.record('preview/a');
    expect([id, name, `${name}x`].map((text) => harness.engine.findEnvironment(text)?.name)).toEqual([name, name, undefined]);
    harness.away.add('process');
    await harness.live(60);
    expect(harness.engine.unsurveyed()).toEqual({ providers: false, projects: [] });
  });
});
