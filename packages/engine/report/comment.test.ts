import {
  type ComponentVersion,
  commitSha,
  componentName,
  type EnvironmentStatus,
  environmentId,
  environmentName,
  type ObservedComponent,
  type ObservedEnvironment,
  type Phase,
  projectId,
  providerName,
  revision,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { composeReport } from './comment.ts';

const url = 'http://shop-calm-bay-1234.localhost';
const subject = { name: 'shop-calm-bay-1234', url };

const status = (phase: Phase, summary: string): EnvironmentStatus => ({ phase, summary, conditions: [] });

const at = (digit: string, health: ComponentVersion['health'], since = '2026-01-05T09:00:00.000Z'): ComponentVersion => ({
  revision: revision(digit.repeat(16)),
  commit: commitSha(digit.repeat(40)),
  health,
  message: '',
  since,
});

const part = (name: string, current: ComponentVersion | null, next: ComponentVersion | null = null): ObservedComponent => ({
  name: componentName(name),
  provider: providerName('process'),
  entry: false,
  dependsOn: [],
  current,
  next,
  retiring: false,
  outputs: {},
  usage: null,
});

const seen = (...components: ObservedComponent[]): ObservedEnvironment => ({
  identity: {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: projectId('shop'),
    source: { kind: 'branch', name: 'preview/a' },
    createdAt: '2026-01-05T09:00:00.000Z',
  },
  components,
  complete: true,
  mark: '',
});

describe('a report', () => {
  it.each<readonly [string, Omit<Parameters<typeof composeReport>[0], 'name' | 'url'>, string]>([
    [
      'of something that is ready gives the address',
      { status: status('Ready', ''), observed: seen(part('web', at('1', 'ready')), part('api', at('1', 'ready'))) },
      `shop-calm-bay-1234: Ready\n${url}\n  web: ready at 111111111111\n  api: ready at 111111111111`,
    ],
    [
      'of something that is on its way says what it waits for',
      { status: status('Progressing', 'web is starting'), observed: seen(part('web', null, at('2', 'starting'))) },
      'shop-calm-bay-1234: Progressing\nweb is starting\n  web: starting at 222222222222',
    ],
    [
      'of something degraded gives the address, the reason and the newer version',
      {
        status: status('Degraded', 'web does not get ready; the version before keeps serving'),
        observed: seen(part('web', at('1', 'ready'), at('2', 'failing'))),
      },
      `shop-calm-bay-1234: Degraded\n${url}\nweb does not get ready; the version before keeps serving\n  web: failing at 222222222222`,
    ],
    [
      'of something that failed gives the reason and no address',
      { status: status('Failed', 'eph.yaml:1:1: the file is empty'), observed: undefined },
      'shop-calm-bay-1234: Failed\neph.yaml:1:1: the file is empty',
    ],
    [
      'of something that is going says why',
      { status: status('Removing', 'being removed: branch preview/a is gone'), observed: seen(part('web', null)) },
      'shop-calm-bay-1234: Removing\nbeing removed: branch preview/a is gone',
    ],
    [
      'of something that is gone says how to bring it back',
      { status: undefined, observed: undefined },
      'shop-calm-bay-1234: removed. Push the branch or tag again to bring it back.',
    ],
  ])('%s', (_, rest, text) => {
    expect(composeReport({ ...subject, ...rest })).toBe(text);
  });

  it('does not change by the mere passing of time', () => {
    const reports = ['2026-01-05T09:00:00.000Z', '2026-02-05T09:00:00.000Z'].map((since) =>
      composeReport({
        ...subject,
        status: status('Ready', ''),
        observed: seen({ ...part('web', at('1', 'ready', since)), usage: { cpuSeconds: Date.parse(since), memoryBytes: 1 } }),
      }),
    );
    expect(reports[0]).toBe(reports[1]);
  });
});
