import { renderedViewSchema } from '@eph/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type FakeEphd, fakeEnvironment, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result } from './terminal.fake.ts';

let ephd: FakeEphd;
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  ephd.rendered = {
    ...ephd.rendered,
    components: [
      { name: 'namespace', provider: 'kubernetes', waits: null, values: { objects: [] } },
      {
        name: 'web',
        provider: 'kubernetes',
        waits: null,
        values: {
          entry: { service: 'web', port: 80 },
          objects: [
            { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 2 } },
            { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web\u001b[31m' } },
          ],
        },
      },
      { name: 'api', provider: 'kubernetes', waits: 'needs namespace: namespace is not ready yet', values: null },
    ],
    problems: ['k8s/a.yaml:1: a problem'],
  };
});
afterEach(() => ephd.close());

const render = (...args: readonly string[]): Promise<Result> =>
  eph(['render', 'shop-serene-ocean-4207', ...args, '--server', ephd.address]);

it('prints the objects of all components as YAML, and as comments what is missing', async () => {
  const { code, out } = await render();
  expect(code).toBe(exitCodes.ok);
  expect(out.split('\n').slice(0, 12)).toStrictEqual([
    '# shop-serene-ocean-4207 at 1a2b3c4d',
    '# problem: k8s/a.yaml:1: a problem',
    '---',
    '# namespace by kubernetes',
    '---',
    '# web by kubernetes',
    '#   entry:',
    '#     service: web',
    '#     port: 80',
    'apiVersion: apps/v1',
    'kind: Deployment',
    'metadata:',
  ]);
  expect(out).toContain('# api waits: needs namespace: namespace is not ready yet\n');
  expect(out).not.toContain('\u001b');
  const kinds = parseAllDocuments(out).flatMap((document) => (document.toJS() as { kind?: string } | null)?.kind ?? []);
  expect(kinds).toEqual(['Deployment', 'Service']);
});

it('prints one component, and says which there are', async () => {
  expect((await render('-c', 'web')).out).not.toContain('namespace');
  const { code, err } = await render('-c', 'wbe');
  expect(code).toBe(exitCodes.notFound);
  expect(err).toContain('it has: namespace, web, api');
});

it('prints JSON', async () => {
  expect(renderedViewSchema.parse(JSON.parse((await render('--json')).out)).components).toHaveLength(3);
});
