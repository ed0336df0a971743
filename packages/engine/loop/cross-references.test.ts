import {
  componentName,
  type EnvironmentId,
  environmentId,
  environmentName,
  observedEnvironment,
  projectId,
  providerName,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { CrossReferences } from './cross-references.ts';
import type { EnvironmentRecord } from './record.ts';
import { Records } from './records.ts';

const shop = projectId('shop');

/** Environments called a, b and c, each with the alias `<name>-alias`. */
class Fixture {
  readonly records = new Records();
  readonly references = new CrossReferences(this.records, (label) => this.#ids.get(label.replace(/-alias$/, '')));
  readonly #ids = new Map<string, EnvironmentId>();

  add(name: string, exists = true): EnvironmentRecord {
    const id = environmentId(String(this.#ids.size).padStart(16, '0'));
    const ref = { kind: 'branch', name } as const;
    const identity = { id, name: environmentName(name), project: shop, source: ref, createdAt: '' };
    const web = {
      name: componentName('web'),
      provider: providerName('process'),
      entry: true,
      dependsOn: [],
      current: null,
      next: null,
      retiring: false,
      upstream: `http://${name}`,
      outputs: { url: `http://${name}` },
    };
    this.#ids.set(name, id);
    return this.records.add({
      ...identity,
      ref,
      source: undefined,
      decision: { state: 'wanted', because: '', spec: 'missing' },
      head: undefined,
      observed: exists ? observedEnvironment({ identity, components: [web], held: false, complete: true }) : undefined,
    });
  }
}

describe('what another environment publishes', () => {
  it('is found by its name and by its alias', () => {
    const fixture = new Fixture();
    const [a] = [fixture.add('a'), fixture.add('b')];
    const published = { outputs: { web: { url: 'http://b' } }, refersBack: false };
    expect(fixture.references.published('b', a.id)).toEqual(published);
    expect(fixture.references.published('b-alias', a.id)).toEqual(published);
  });

  it('is nothing while it does not exist', () => {
    const fixture = new Fixture();
    const [a] = [fixture.add('a'), fixture.add('b', false)];
    expect(fixture.references.published('b', a.id)).toBeUndefined();
    expect(fixture.references.published('nobody', a.id)).toBeUndefined();
  });

  it('says whether its own references lead back, however indirectly', () => {
    const fixture = new Fixture();
    const [a, b, c] = [fixture.add('a'), fixture.add('b'), fixture.add('c')];
    fixture.references.refer(b, ['c-alias']);
    fixture.references.refer(c, ['b']);
    expect(fixture.references.published('b', a.id)?.refersBack).toBe(false);
    fixture.references.refer(c, ['b', 'a']);
    expect(fixture.references.published('b', a.id)?.refersBack).toBe(true);
  });
});

describe('references to an environment', () => {
  it('are known by the names they use, until they end', () => {
    const fixture = new Fixture();
    const [a, b, c] = [fixture.add('a'), fixture.add('b'), fixture.add('c')];
    fixture.references.refer(a, ['c']);
    fixture.references.refer(b, ['x', 'c-alias']);
    fixture.references.refer(c, ['c']);
    expect(fixture.references.referrersOf(c)).toEqual([a, b]);
    fixture.references.refer(a, []);
    expect(fixture.references.referrersOf(c)).toEqual([b]);
    expect(fixture.references.referrersOf(a)).toEqual([]);
  });
});
