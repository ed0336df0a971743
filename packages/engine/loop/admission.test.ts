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
import { createRecord, Memory } from './memory.ts';

const teams: Readonly<Record<string, string | undefined>> = {
  shop: 'storefront',
  cart: 'storefront',
  news: 'press',
  lone: undefined,
};

const remember = (memory: Memory, number: number, project: string, exists: boolean): EnvironmentId => {
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
  memory.remember(createRecord({ id, project: projectId(project), ref, name, decision, source: undefined, observed }));
  return id;
};

const createAdmission = (memory: Memory): Admission => new Admission(memory, (project) => teams[project]);

describe('how many others there are', () => {
  it('counts what exists, by project, team and cluster', () => {
    const memory = new Memory();
    const own = remember(memory, 1, 'shop', false);
    remember(memory, 2, 'shop', true);
    remember(memory, 3, 'cart', true);
    remember(memory, 4, 'news', true);
    remember(memory, 5, 'shop', false);
    expect(createAdmission(memory).countOthers(own, projectId('shop'))).toEqual({ project: 1, team: 2, cluster: 3 });
  });

  it('counts what was let in and is on its way', () => {
    const memory = new Memory();
    const [first, second] = [remember(memory, 1, 'shop', false), remember(memory, 2, 'shop', false)];
    const admission = createAdmission(memory);
    admission.admit(first);
    expect(admission.countOthers(second, projectId('shop')).project).toBe(1);
    expect(admission.countOthers(first, projectId('shop')).project).toBe(0);
    admission.leave(first);
    expect(admission.countOthers(second, projectId('shop')).project).toBe(0);
  });

  it('counts no team for a project that has none', () => {
    const memory = new Memory();
    const own = remember(memory, 1, 'lone', false);
    remember(memory, 2, 'lone', true);
    expect(createAdmission(memory).countOthers(own, projectId('lone'))).toEqual({ project: 1, team: 0, cluster: 1 });
  });
});

describe('whoever waits for room', () => {
  it('is called when somebody leaves, until it is let in', () => {
    const memory = new Memory();
    const [first, second] = [remember(memory, 1, 'shop', true), remember(memory, 2, 'shop', false)];
    const admission = createAdmission(memory);
    admission.queue(second);
    expect(admission.leave(first)).toEqual([second]);
    admission.admit(second);
    expect(admission.leave(first)).toEqual([]);
  });
});
