import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  projectId,
  providerName,
  revision,
  type SourceKind,
} from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import { createRecord, type EnvironmentRecord } from '@eph/engine/loop/record';

const shop = projectId('shop');
const commit = commitSha('a'.repeat(40));

/** A ready environment with one component. */
export const createReadyRecord = (
  source: string,
  overrides: Partial<EnvironmentRecord> = {},
  kind: SourceKind = 'branch',
): EnvironmentRecord => {
  const ref = { kind, name: source };
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
      head: commit,
      observed: {
        identity: { id, name, project: shop, source: ref, createdAt: '2026-01-05T09:00:00.000Z' },
        held: false,
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
            upstream: 'http://127.0.0.1:4000',
            outputs: { url: 'http://127.0.0.1:4000' },
          },
        ],
      },
    }),
    status: { phase: 'Ready', summary: '', conditions: [] },
    settled: true,
    ...overrides,
  };
};
