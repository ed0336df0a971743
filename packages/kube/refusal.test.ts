import { describe, expect, it } from 'vitest';
import { isAbsent, retryAfterOf, toRefusal } from './refusal.ts';

const asked = { cluster: 'staging', verb: 'apply', kind: 'Deployment', shown: 'Deployment shop/web', name: 'web' } as const;
const status = (fields: object): object => ({ kind: 'Status', status: 'Failure', ...fields });

describe('an answer that refuses', () => {
  it.each([
    [401, {}, 'cluster.refused', /^Cluster staging does not accept the credentials of ephd\./],
    [
      403,
      { message: 'deployments.apps "web" is forbidden: User "eph" cannot patch resource "deployments" in API group "apps"' },
      'cluster.refused',
      /^ephd has no right to apply Deployment shop\/web in cluster staging\. An operator must grant it: /,
    ],
    [403, {}, 'cluster.refused', /no right/],
    [
      403,
      { message: 'pods "web" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2' },
      'object.refused',
      /exceeded quota: small/,
    ],
    [
      403,
      { message: 'is forbidden: being terminated', details: { causes: [{ reason: 'NamespaceTerminating' }] } },
      'object.conflict',
      /namespace of Deployment shop\/web in cluster staging is being removed/,
    ],
    [
      404,
      { reason: 'NotFound', message: 'namespaces "shop" not found' },
      'object.missing',
      /not there \(yet\): namespaces "shop"/,
    ],
    [409, { message: 'the object has been modified' }, 'object.conflict', /changed in cluster staging at the same time/],
    [410, {}, 'object.expired', /no longer knows/],
    [
      422,
      { message: 'spec.replicas: Invalid value: -1: must be positive' },
      'object.refused',
      /Invalid value: must be positive\.$/,
    ],
    [
      422,
      { message: 'Job.batch "web" is invalid: spec.template: Invalid value: {"env":["a: b, c"]}: field is immutable' },
      'object.immutable',
      /cannot change Deployment shop\/web in place: Job\.batch "web" is invalid: spec\.template: Invalid value: field is immutable\.$/,
    ],
    [
      500,
      { message: 'failed to create typed patch object (web; apps/v1): .spec.replicas: expected numeric, got string' },
      'object.refused',
      /\.spec\.replicas: expected numeric, got string\.$/,
    ],
    [413, {}, 'object.refused', /status 413\.$/],
    [429, {}, 'cluster.unreachable', /status 429\.$/],
    [500, { message: 'etcdserver: mvcc: database space exceeded' }, 'cluster.unreachable', /^Cluster staging is full: /],
    [302, {}, 'cluster.unreachable', /status 302/],
  ] as const)('of status %i %j is %s', (code, fields, expected, message) => {
    expect(toRefusal(asked, { status: code, body: status(fields) })).toMatchObject({
      code: expected,
      message: expect.stringMatching(message),
    });
  });

  it('quotes no value that Go prints in its own way', () => {
    const message = `failed to create typed patch object: errors:
  .data.one: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"of":"hunter2"}}
  .data.two: expected string, got &value.valueUnstructured{Value:"hunter2"}`;
    expect(toRefusal(asked, { status: 500, body: status({ message }) }).message).toMatch(
      /: errors: \.data\.one: expected string, got another value \.data\.two: expected string, got another value\.$/,
    );
  });

  it('quotes no value, and of a Secret nothing but fields', () => {
    const message =
      'Secret "keys" is invalid: data[password]: Invalid value: "hunter2": too short, and .env: expected string, got &value.valueUnstructured{Value:"hunter2"}';
    const body = status({ message, details: { causes: [{ field: 'data[password]' }] } });
    expect(toRefusal(asked, { status: 422, body }).message).not.toContain('hunter2');
    const whole = status({
      message: 'spec: Invalid value: core.PodSpec{Env:[]core.EnvVar{{Value:"hunter2"}}}: no, b: Invalid value: "hunter2": no',
    });
    expect(toRefusal(asked, { status: 422, body: whole }).message).toMatch(/spec: Invalid value: no, b: Invalid value: no\.$/);
    const secret = toRefusal({ ...asked, kind: 'Secret', shown: 'Secret shop/keys' }, { status: 422, body });
    expect(secret.message).toBe('Cluster staging refuses to apply Secret shop/keys: status 422: see data.');
  });

  it('quotes nothing that is not from the API server, and not endlessly', () => {
    expect(toRefusal(asked, { status: 502, body: { message: 'from a proxy' } }).message).not.toContain('proxy');
    expect(toRefusal(asked, { status: 422, body: status({ message: 'x'.repeat(9_999) }) }).message.length).toBeLessThan(700);
  });
});

describe('an object is absent', () => {
  const notFound = status({ reason: 'NotFound', details: { name: 'web', kind: 'deployments' } });

  it('only if the API server says so of this object', () => {
    expect(isAbsent(asked, { status: 404, body: notFound })).toBe(true);
  });

  it.each([
    ['a proxy', 404, '<html>'],
    ['the path is unknown', 404, status({ reason: 'NotFound', details: {} })],
    ['another object is missing', 404, status({ reason: 'NotFound', details: { name: 'shop', kind: 'namespaces' } })],
    ['something else is wrong', 500, notFound],
    ['an object was not asked for', 404, notFound],
  ])('and not if %s', (why, code, body) => {
    const { name: _, ...unnamed } = asked;
    expect(isAbsent(why === 'an object was not asked for' ? unnamed : asked, { status: code, body })).toBe(false);
  });
});

it.each([
  ['3', undefined, 3_000],
  [undefined, { details: { retryAfterSeconds: 2 } }, 2_000],
  ['99999999', undefined, 60_000],
  ['soon', undefined, undefined],
  [undefined, 'text', undefined],
])('the pause that is asked for by %s and %j is %s ms', (header, body, expected) => {
  expect(retryAfterOf(header, body, 60_000)).toBe(expected);
});
