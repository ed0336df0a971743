import { describe, expect, it } from 'vitest';
import { deploymentValues } from './component-values.ts';
import { findValueFaults } from './value-faults.ts';

describe('the faults of a value', () => {
  it('are none when it is sound', () => {
    expect(findValueFaults(deploymentValues, { replicas: 3, env: { A: 'x' } })).toEqual([]);
  });

  it.each<readonly [unknown, readonly string[], string]>([
    [{ replicas: -1 }, ['replicas'], 'must not be negative'],
    [{ replica: 1 }, ['replica'], 'unknown key; did you mean "replicas"?'],
    [{ env: { A: {} } }, ['env', 'A'], 'must be text'],
    [{ env: { 'a.b': 'x' } }, ['env', 'a.b'], 'is not a variable name'],
    [{ resources: { limits: { cpu: 'much' } } }, ['resources', 'limits', 'cpu'], 'must be an amount'],
    [{ ready: { http: '/', tcp: true } }, ['ready'], 'choose one of http, tcp and none'],
    [[], [], 'must be a map'],
    [null, [], 'must be a map'],
  ])('in %j are sentences about its paths', (value, path, message) => {
    expect(findValueFaults(deploymentValues, value)).toEqual([{ path, message: expect.stringContaining(message) }]);
  });

  it('come all at once, each unknown key by itself', () => {
    const faults = findValueFaults(deploymentValues, { one: 1, two: 2, directory: 3 });
    expect(faults.map(({ path }) => path)).toEqual(expect.arrayContaining([['one'], ['two'], ['directory']]));
  });

  it('do not mind names that JavaScript gives a meaning', () => {
    const hostile = JSON.parse('{ "__proto__": { "a": 1 }, "constructor": { "prototype": 1 } }') as object;
    expect(findValueFaults(deploymentValues, hostile).length).toBeGreaterThan(0);
    expect({}).not.toHaveProperty('a');
  });
});
