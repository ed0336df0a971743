import { commitSha, componentName, environmentId, environmentName, projectId, providerName, revision } from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import { createRecord, type EnvironmentRecord } from '@eph/engine/loop/memory';

const shop = projectId('shop');
const commit = commitSha('a'.repeat(40));

/** A ready environment with one component. */
export const createReadyRecord = (branch: string, overrides: Partial<EnvironmentRecord> = {}): EnvironmentRecord => {
  const ref = { kind: 'branch', name: branch } as const;
  const id = environmentId(identify(shop, ref));
  const name = environmentName(`shop-${id}`);
  const version = {
    revision: revision('b'.repeat(32)),
    commit,
    health: 'ready',
    message: '',
    since: '2026-01-05T09:00:00.000Z',
  } as const;
  return {
    ...createRecord({
      id,
      project: shop,
      ref,
      name,
      decision: { state: 'wanted', because: 'a test wants it', spec: 'missing' },
      source: { project: shop, ref, commit },
      observed: {
        identity: { id, name, project: shop, source: ref, createdAt: '2026-01-05T09:00:00.000Z' },
        complete: true,
        mark: '',
        components: [
          {
            name: componentName('web'),
            provider: providerName('process'),
            entry: true,
            dependsOn: [],
            current: version,
            next: null,
            retiring: false,
            outputs: { url: 'http://127.0.0.1:4000' },
            usage: null,
          },
        ],
      },
    }),
    status: { phase: 'Ready', summary: '', conditions: [] },
    settled: true,
    ...overrides,
  };
};
