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
import { createRecord, type EnvironmentRecord, Memory } from './memory.ts';
import { Neighbours } from './neighbours.ts';

const shop = projectId('shop');

/** Environments called a, b and c, each with the alias `<name>-alias`. */
class Street {
  readonly memory = new Memory();
  readonly neighbours = new Neighbours(this.memory, (label) => this.#ids.get(label.replace(/-alias$/, '')));
  readonly #ids = new Map<string, EnvironmentId>();

  settle(name: string, exists = true): EnvironmentRecord {
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
      upstream: null,
      outputs: { url: `http://${name}` },
    };
    const known = createRecord({
      ...identity,
      ref,
      source: undefined,
      decision: { state: 'wanted', because: '', spec: 'missing' },
      observed: exists ? observedEnvironment({ identity, components: [web], held: false, complete: true }) : undefined,
    });
    this.#ids.set(name, id);
    this.memory.remember(known);
    return known;
  }
}

describe('what a neighbour publishes', () => {
  it('is found by its name and by its alias', () => {
    const street = new Street();
    const [a] = [street.settle('a'), street.settle('b')];
    const published = { outputs: { web: { url: 'http://b' } }, refersBack: false };
    expect(street.neighbours.published('b', a.id)).toEqual(published);
    expect(street.neighbours.published('b-alias', a.id)).toEqual(published);
  });

  it('is nothing while it does not exist', () => {
    const street = new Street();
    const [a] = [street.settle('a'), street.settle('b', false)];
    expect(street.neighbours.published('b', a.id)).toBeUndefined();
    expect(street.neighbours.published('nobody', a.id)).toBeUndefined();
  });

  it('says whether its own references lead back, however indirectly', () => {
    const street = new Street();
    const [a, b, c] = [street.settle('a'), street.settle('b'), street.settle('c')];
    street.neighbours.refer(b, ['c-alias']);
    street.neighbours.refer(c, ['b']);
    expect(street.neighbours.published('b', a.id)?.refersBack).toBe(false);
    street.neighbours.refer(c, ['b', 'a']);
    expect(street.neighbours.published('b', a.id)?.refersBack).toBe(true);
  });
});

describe('who refers to a neighbour', () => {
  it('is everybody who names it, until they do no more', () => {
    const street = new Street();
    const [a, b, c] = [street.settle('a'), street.settle('b'), street.settle('c')];
    street.neighbours.refer(a, ['c']);
    street.neighbours.refer(b, ['x', 'c-alias']);
    street.neighbours.refer(c, ['c']);
    expect(street.neighbours.referrersOf(c)).toEqual([a, b]);
    street.neighbours.refer(a, []);
    expect(street.neighbours.referrersOf(c)).toEqual([b]);
    expect(street.neighbours.referrersOf(a)).toEqual([]);
  });
});
