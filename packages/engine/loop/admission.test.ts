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
import { Admission } from './admission.ts';
import { Records } from './records.ts';

const teams: Readonly<Record<string, string | undefined>> = {
  shop: 'storefront',
  cart: 'storefront',
  news: 'press',
  lone: undefined,
};

const add = (records: Records, number: number, project: string, exists: boolean): EnvironmentId => {
  const id = environmentId(String(number).padStart(16, '0'));
  const name = environmentName(`${project}-${number}`);
  const ref = { kind: 'branch', name: `preview/${number}` } as const;
  const identity = { id, name, project: projectId(project), source: ref, createdAt: '' };
  const component = {
    name: componentName('web'),
    provider: providerName('process'),
    entry: true,
    dependsOn: [],
    current: null,
    next: null,
    retiring: false,
    upstream: null,
    outputs: {},
  };
  const observed = exists ? observedEnvironment({ identity, components: [component], held: false, complete: true }) : undefined;
  const decision = { state: 'wanted', because: '', spec: 'missing' } as const;
  records.add({ id, project: projectId(project), ref, name, decision, source: undefined, head: undefined, observed });
  return id;
};

const createAdmission = (records: Records): Admission => new Admission(records, (project) => teams[project]);

describe('how many others there are', () => {
  it('counts what exists, by project, team and cluster', () => {
    const records = new Records();
    const own = add(records, 1, 'shop', false);
    add(records, 2, 'shop', true);
    add(records, 3, 'cart', true);
    add(records, 4, 'news', true);
    add(records, 5, 'shop', false);
    expect(createAdmission(records).countOthers(own, projectId('shop'))).toEqual({ project: 1, team: 2, cluster: 3 });
  });

  it('counts what was let in and is on its way', () => {
    const records = new Records();
    const [first, second] = [add(records, 1, 'shop', false), add(records, 2, 'shop', false)];
    const admission = createAdmission(records);
    admission.admit(first);
    expect(admission.countOthers(second, projectId('shop')).project).toBe(1);
    expect(admission.countOthers(first, projectId('shop')).project).toBe(0);
    admission.leave(first);
    expect(admission.countOthers(second, projectId('shop')).project).toBe(0);
  });

  it('counts no team for a project that has none', () => {
    const records = new Records();
    const own = add(records, 1, 'lone', false);
    add(records, 2, 'lone', true);
    expect(createAdmission(records).countOthers(own, projectId('lone'))).toEqual({ project: 1, team: 0, cluster: 1 });
  });
});

describe('an environment that waits for room', () => {
  it('is looked at again when another one is removed, until it is admitted', () => {
    const records = new Records();
    const [first, second] = [add(records, 1, 'shop', true), add(records, 2, 'shop', false)];
    const admission = createAdmission(records);
    admission.queue(second);
    expect(admission.leave(first)).toEqual([second]);
    admission.admit(second);
    expect(admission.leave(first)).toEqual([]);
  });
});
