import { type EnvironmentId, type ProjectId, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { computeAlias } from '../desired/identity.ts';
import { FakeForge, FakeRepository } from '../source/forge.fake.ts';
import { branch, EngineHarness, oneService, shop } from './engine-harness.fake.ts';

const settle = 20;
const named = (template: string, name = 'shop'): string =>
  oneService.replace('name: shop', `name: ${name}\nenvironment: { name_template: "${template}" }`);

/** Aliases as the routes of ephd know them: from the moment an environment shows up. */
const withAliases = (): EngineHarness => {
  const harness = new EngineHarness();
  const aliases = new Map<string, EnvironmentId>();
  harness.onChange = (id) => {
    const record = harness.engine.environment(id);
    if (record !== undefined) aliases.set(computeAlias(record.project, record.ref), id);
  };
  harness.ownerOf = (label) => aliases.get(label);
  return harness;
};

const addProject = (harness: EngineHarness, id: ProjectId): FakeRepository => {
  const repository = new FakeRepository(id, () => harness.clock.now());
  harness.engine.addProjects(harness.configure(new Map([[id, new FakeForge(id, repository)]])));
  return repository;
};

describe('a new name', () => {
  it.each([
    ['a template without the project', named('{ref_name}'), /^shop-preview-a$/],
    ['a file that calls itself like another project', named('{project}-{ref_name}', 'bank'), /^shop-bank-preview-a$/],
    ['a file that does so without a template', oneService.replace('name: shop', 'name: bank'), /^shop-[a-z]+-[a-z]+-\d{4}$/],
    ['a file that is broken', 'name: 7\n', /^shop-[a-z]+-[a-z]+-\d{4}$/],
  ])('begins with the id of the project despite %s', async (_, spec, name) => {
    const harness = new EngineHarness().start();
    harness.push('preview/a', spec);
    await harness.live(settle);
    expect(harness.only().name).toMatch(name);
  });

  it('is not one of a project with a longer id, also after that one has left', async () => {
    const harness = new EngineHarness().start();
    const bank = projectId('shop-bank');
    const repository = addProject(harness, bank);
    repository.push(branch('preview/x'), { 'eph.yaml': named('{ref_name}') });
    harness.push('preview/a', named('shop-bank-login'));
    await harness.live(settle);
    expect(harness.record('preview/x').name).toBe('shop-bank-preview-x');
    expect(harness.record('preview/a').name).toMatch(/^shop-[0-9a-f]{8}-bank-login$/);
    harness.engine.removeProjects(new Set([bank]));
    harness.push('preview/b', named('shop-bank-signup'));
    await harness.live(settle);
    expect(harness.record('preview/b').name).toMatch(/^shop-[0-9a-f]{8}-bank-signup$/);
  });

  it('that an environment has is kept when a project with a longer id joins', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a', named('bank-login'));
    await harness.live(settle);
    addProject(harness, projectId('shop-bank'));
    await harness.live(settle);
    await harness.restart([shop]);
    await harness.live(settle);
    expect(harness.only().name).toBe('shop-bank-login');
  });

  it('is not the alias of another environment, also of one that is found in the same reading', async () => {
    const harness = withAliases().start();
    harness.push('preview/login');
    harness.push('preview/thief', named('preview-login'));
    await harness.live(settle);
    expect(harness.record('preview/thief').name).toMatch(/^shop-preview-login-\d{4}$/);
    await harness.restart();
    harness.push('preview/another', named('preview-login'));
    await harness.live(settle);
    expect(harness.record('preview/another').name).toMatch(/^shop-preview-login-\d{4}$/);
  });

  it('may be the alias of its own source', async () => {
    const harness = withAliases().start();
    harness.push('preview/login', named('{project}-{ref_name}'));
    await harness.live(settle);
    expect(harness.only().name).toBe('shop-preview-login');
  });
});
