import {
  type ComponentVersion,
  type Condition,
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Failure,
  failure,
  type ObservedComponent,
  type ObservedEnvironment,
  type Phase,
  phases,
  projectId,
  providerName,
  revision,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type Findings, summarize } from './summarize.ts';

const now = '2026-01-05T10:00:00.000Z';
const wanted = commitSha('2'.repeat(40));
const older = commitSha('1'.repeat(40));

const at = (commit: typeof wanted, health: ComponentVersion['health'] = 'ready', message = ''): ComponentVersion => ({
  revision: revision(commit.slice(0, 16)),
  commit,
  health,
  message,
  since: now,
});

const web = (changes: Partial<ObservedComponent> = {}): ObservedComponent => ({
  name: componentName('web'),
  provider: providerName('process'),
  entry: true,
  dependsOn: [],
  current: at(wanted),
  next: null,
  retiring: false,
  upstream: null,
  outputs: {},
  ...changes,
});
const worker = (changes: Partial<ObservedComponent> = {}): ObservedComponent =>
  web({ name: componentName('worker'), entry: false, ...changes });

const seen = (...components: ObservedComponent[]): ObservedEnvironment => ({
  identity: {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: projectId('shop'),
    source: { kind: 'branch', name: 'preview/a' },
    createdAt: now,
  },
  components,
  held: false,
  complete: true,
  mark: '',
});

const found = (changes: Partial<Findings>): Findings => ({
  wanted: true,
  because: 'branch preview/a matches preview/**',
  held: false,
  specFaults: [],
  observed: seen(web()),
  actions: [],
  failures: [],
  notices: [],
  remarks: [],
  staleConfiguration: undefined,
  components: [],
  generation: wanted,
  ...changes,
});

const create = {
  type: 'create',
  component: componentName('web'),
  provider: providerName('process'),
  revision: revision('2'.repeat(16)),
  reason: 'web does not exist yet',
} as const;
const destroy = {
  type: 'destroy',
  component: componentName('old'),
  provider: providerName('process'),
  reason: 'old is no longer in eph.yaml',
} as const;
const waitFor = (reason: string) =>
  ({ type: 'wait', component: componentName('web'), code: 'component.not_ready', reason }) as const;
const unreachable = failure('provider.unreachable', 'the engine does not answer');
const invalid = failure('spec.invalid', 'eph.yaml:3:1: procces: unknown key; did you mean "process"?');
const gone = { wanted: false, because: 'branch preview/a is gone', generation: '' } as const;

const trueOnes = (conditions: readonly Condition[]): readonly string[] =>
  conditions.filter((one) => one.status === 'True').map((one) => one.type);

interface Row {
  readonly phase: Phase;
  readonly when: string;
  readonly findings: Partial<Findings>;
  readonly summary: string;
  readonly holds: readonly string[];
}

const rows: readonly Row[] = [
  {
    phase: 'Pending',
    when: 'nothing of it exists yet',
    findings: { observed: undefined, actions: [create] },
    summary: 'web does not exist yet',
    holds: ['SpecValid', 'Progressing'],
  },
  {
    phase: 'Pending',
    when: 'the artifact is not there yet',
    findings: {
      observed: undefined,
      actions: [{ type: 'wait', code: 'artifact.missing', reason: 'there is no image for 2222222 yet' }],
    },
    summary: 'there is no image for 2222222 yet',
    holds: ['SpecValid', 'Progressing'],
  },
  {
    phase: 'Pending',
    when: 'the first attempt failed and will be repeated',
    findings: { observed: undefined, actions: [create], failures: [unreachable] },
    summary: 'the engine does not answer',
    holds: ['SpecValid', 'Progressing'],
  },
  {
    phase: 'Progressing',
    when: 'its first version starts',
    findings: { observed: seen(web({ current: null, next: at(wanted, 'starting') })), actions: [waitFor('web is starting')] },
    summary: 'web is starting',
    holds: ['SpecValid', 'Progressing'],
  },
  {
    phase: 'Progressing',
    when: 'a new version starts while the one before answers',
    findings: {
      observed: seen(web({ current: at(older), next: at(wanted, 'starting') })),
      actions: [waitFor('web is starting')],
    },
    summary: 'web is starting',
    holds: ['Available', 'SpecValid', 'Progressing'],
  },
  {
    phase: 'Ready',
    when: 'the wanted version answers',
    findings: {},
    summary: '',
    holds: ['Ready', 'Available', 'SpecValid'],
  },
  {
    phase: 'Ready',
    when: 'only tidying up is left',
    findings: { actions: [destroy] },
    summary: '',
    holds: ['Ready', 'Available', 'SpecValid'],
  },
  {
    phase: 'Ready',
    when: 'the version before it finishes its requests',
    findings: {
      actions: [
        { type: 'wait', component: componentName('web'), code: 'component.draining', reason: 'it finishes its requests' },
      ],
    },
    summary: '',
    holds: ['Ready', 'Available', 'SpecValid'],
  },
  {
    phase: 'Degraded',
    when: 'the new version does not get ready',
    findings: {
      observed: seen(web({ current: at(older), next: at(wanted, 'failing', 'it exited with 1') })),
      actions: [waitFor('web does not get ready: it exited with 1')],
    },
    summary: 'web does not get ready: it exited with 1; the version before keeps serving',
    holds: ['Available', 'SpecValid', 'Progressing'],
  },
  {
    phase: 'Degraded',
    when: 'the new commit breaks the file',
    findings: { observed: seen(web({ current: at(older) })), specFaults: [invalid] },
    summary: 'eph.yaml:3:1: procces: unknown key; did you mean "process"?; the version before keeps serving',
    holds: ['Available', 'Stalled'],
  },
  {
    phase: 'Degraded',
    when: 'a component that gets no traffic has broken down',
    findings: {
      observed: seen(web(), worker({ current: at(wanted, 'failing', 'gone') })),
      actions: [waitFor('worker is not ready: gone')],
    },
    summary: 'worker is not ready: gone',
    holds: ['Available', 'SpecValid', 'Progressing'],
  },
  {
    phase: 'Degraded',
    when: 'it cannot be read completely',
    findings: { failures: [unreachable] },
    summary: 'the engine does not answer',
    holds: ['Available', 'SpecValid', 'Progressing'],
  },
  {
    phase: 'Failed',
    when: 'the file is broken and nothing runs',
    findings: { observed: undefined, specFaults: [invalid] },
    summary: 'eph.yaml:3:1: procces: unknown key; did you mean "process"?',
    holds: ['Stalled'],
  },
  {
    phase: 'Failed',
    when: 'its only version does not get ready',
    findings: {
      observed: seen(web({ current: null, next: at(wanted, 'failing', 'it exited with 1') })),
      actions: [waitFor('web does not get ready: it exited with 1')],
    },
    summary: 'web does not get ready: it exited with 1',
    holds: ['SpecValid', 'Progressing'],
  },
  {
    phase: 'Failed',
    when: 'nothing is tried again for its only version',
    findings: {
      observed: seen(web({ current: null, next: { ...at(wanted, 'failing', 'prepare failed'), stalled: true } })),
      actions: [{ ...waitFor('web does not get ready: prepare failed'), code: 'component.stalled' }],
    },
    summary: 'web does not get ready: prepare failed',
    holds: ['SpecValid', 'Stalled'],
  },
  {
    phase: 'Failed',
    when: 'a provider refuses it',
    findings: { observed: undefined, actions: [create], failures: [failure('component.refused', 'command: must not be empty')] },
    summary: 'command: must not be empty',
    holds: ['SpecValid', 'Stalled'],
  },
  {
    phase: 'Failed',
    when: 'Eph has a bug',
    findings: { observed: undefined, actions: [create], failures: [failure('internal', 'TypeError: x is not a function')] },
    summary: 'TypeError: x is not a function',
    holds: ['SpecValid', 'Stalled'],
  },
  {
    phase: 'Removing',
    when: 'nobody wants it any more',
    findings: { ...gone, actions: [destroy] },
    summary: 'being removed: branch preview/a is gone',
    holds: ['Available', 'SpecValid', 'Progressing'],
  },
  {
    phase: 'Held',
    when: 'its removal is held',
    findings: { ...gone, held: true, actions: [{ type: 'wait', code: 'plan.held', reason: 'an operator must release it' }] },
    summary: 'removal is held: branch preview/a is gone',
    holds: ['Available', 'SpecValid', 'Held'],
  },
  {
    phase: 'Ready',
    when: 'a provider that is no longer configured still holds a copy',
    findings: { actions: [{ type: 'wait', code: 'plan.held', reason: 'provider local is no longer configured' }] },
    summary: '',
    holds: ['Ready', 'Available', 'SpecValid', 'Held'],
  },
  {
    phase: 'Ready',
    when: 'a fallback is used',
    findings: { remarks: ['provider kubernetes is not configured here; fallback process is used'] },
    summary: '',
    holds: ['Ready', 'Available', 'SpecValid', 'Warning'],
  },
];

describe('an environment', () => {
  it.each(rows)('is $phase when $when', ({ phase, findings, summary, holds }) => {
    const status = summarize(found(findings), undefined, now);
    expect({ phase: status.phase, summary: status.summary, holds: trueOnes(status.conditions) }).toEqual({
      phase,
      summary,
      holds,
    });
  });

  it('can be in every phase there is', () => {
    expect(new Set(rows.map((row) => row.phase))).toEqual(new Set(phases));
  });

  it.each(rows)('that is $phase when $when obeys the rules of conditions', ({ findings }) => {
    const { conditions } = summarize(found(findings), undefined, now);
    const types = conditions.map((one) => one.type);
    expect(types).toEqual([...new Set(types)]);
    expect(conditions.filter((one) => !/^[A-Z][A-Za-z]+$/.test(one.reason))).toEqual([]);
    expect(
      conditions.every((one) => one.lastTransitionTime === now && one.observedGeneration === (findings.generation ?? wanted)),
    ).toBe(true);
    expect(trueOnes(conditions)).not.toEqual(expect.arrayContaining(['Progressing', 'Stalled']));
    expect(trueOnes(conditions)).not.toEqual(expect.arrayContaining(['Progressing', 'Ready']));
  });

  it.each<readonly [Failure, string]>([
    [invalid, 'SpecInvalid'],
    [failure('reference.unknown', 'x'), 'ReferenceUnknown'],
    [failure('component.refused', 'x'), 'ComponentRefused'],
    [failure('internal', 'x'), 'Internal'],
  ])('gives its stall a stable reason: $code', (fault, reason) => {
    const { conditions } = summarize(found({ failures: [fault] }), undefined, now);
    expect(conditions.find((one) => one.type === 'Stalled')).toMatchObject({ status: 'True', reason, message: fault.message });
    expect(conditions.find((one) => one.type === 'Progressing')).toMatchObject({ status: 'False', reason: 'Stalled' });
  });

  it('keeps the time of what did not change', () => {
    const first = summarize(found({}), undefined, '2026-01-05T09:00:00.000Z');
    const second = summarize(found({ failures: [unreachable] }), first, now);
    const times = Object.fromEntries(second.conditions.map((one) => [one.type, one.lastTransitionTime]));
    expect(times).toMatchObject({
      Ready: now,
      Progressing: now,
      Available: '2026-01-05T09:00:00.000Z',
      SpecValid: '2026-01-05T09:00:00.000Z',
    });
  });

  it('says the same about the same findings', () => {
    for (const { findings } of rows) {
      const once = summarize(found(findings), undefined, now);
      expect(summarize(found(findings), once, '2027-01-01T00:00:00.000Z')).toEqual(once);
    }
  });
});

describe('what does not keep it from being ready', () => {
  it.each<readonly [string, Partial<Findings>, Partial<Condition>]>([
    [
      'what this version does not do yet',
      { notices: ['eph.yaml:7:3: environment.ttl is not available yet', 'eph.yaml:9:1: hooks is not available yet'] },
      {
        type: 'Unsupported',
        status: 'True',
        reason: 'NotAvailableYet',
        message: 'eph.yaml:7:3: environment.ttl is not available yet; eph.yaml:9:1: hooks is not available yet',
      },
    ],
    [
      'a broken configuration repository',
      { staleConfiguration: failure('config.invalid', 'dev/env.yaml:4:3: defaults: must be a map') },
      {
        type: 'ConfigurationStale',
        status: 'True',
        reason: 'ConfigInvalid',
        message: 'the last good reading is in force: dev/env.yaml:4:3: defaults: must be a map',
      },
    ],
  ])('%s is shown beside it', (_, findings, condition) => {
    const status = summarize(found(findings), undefined, now);
    expect(status.phase).toBe('Ready');
    expect(status.conditions).toContainEqual(expect.objectContaining(condition));
    expect(summarize(found({}), status, now).conditions.map((one) => one.type)).not.toContain(condition.type);
  });
});

describe('whether it is available', () => {
  it.each<readonly [string, ObservedEnvironment | undefined, boolean]>([
    ['nothing is there', undefined, false],
    ['nothing is left of it', seen(), false],
    ['its entry is ready', seen(worker({ current: null }), web()), true],
    ['its entry is not, though others are', seen(web({ current: at(wanted, 'failing') }), worker()), false],
    ['its entry is only on its way', seen(web({ current: null, next: at(wanted, 'ready') })), false],
    ['it has no entry', seen(worker()), false],
  ])('when %s', (_, observed, answers) => {
    const { conditions } = summarize(found({ observed }), undefined, now);
    expect(trueOnes(conditions).includes('Available')).toBe(answers);
  });
});
