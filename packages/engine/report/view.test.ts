import {
  type Action,
  type ComponentVersion,
  commitSha,
  componentName,
  type EnvironmentStatus,
  environmentId,
  environmentName,
  failure,
  isSameView,
  type ObservedComponent,
  type ObservedEnvironment,
  type Phase,
  projectId,
  providerName,
  type ReportView,
  type ResolvedComponent,
  registerSecret,
  revision,
  type SourceRef,
  type Trigger,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { composeView, type ReportSubject } from './view.ts';

const status = (phase: Phase, summary = ''): EnvironmentStatus => ({ phase, summary, conditions: [] });

const remark = (type: 'Unsupported' | 'ConfigurationStale' | 'Held', message: string) =>
  ({ type, status: 'True', reason: 'X', message, lastTransitionTime: '', observedGeneration: '' }) as const;

const at = (digit: string, health: ComponentVersion['health'], message = ''): ComponentVersion => ({
  revision: revision(digit.repeat(16)),
  commit: commitSha(digit.repeat(40)),
  health,
  message,
  since: `2026-01-05T09:0${digit}:00.000Z`,
});

const part = (name: string, current: ComponentVersion | null, next: ComponentVersion | null = null): ObservedComponent => ({
  name: componentName(name),
  provider: providerName('process'),
  entry: name === 'web',
  dependsOn: [],
  current,
  next,
  retiring: false,
  upstream: null,
  outputs: {},
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
  held: false,
  complete: true,
  mark: '',
});

const resolvedComponent = (name: string, digit: string, of = digit): ResolvedComponent => ({
  name: componentName(name),
  provider: providerName('process'),
  commit: commitSha(of.repeat(40)),
  artifact: null,
  entry: true,
  dependsOn: [],
  values: {},
  revision: revision(digit.repeat(16)),
});

const subject = (changes: Partial<ReportSubject>): ReportSubject => ({
  name: environmentName('shop-calm-bay-1234'),
  url: 'http://shop-calm-bay-1234.localhost',
  source: { kind: 'branch', name: 'preview/a' },
  commit: commitSha('2'.repeat(40)),
  status: status('Ready'),
  because: 'branch preview/a matches preview/**',
  observed: undefined,
  actions: [],
  failures: [],
  resolved: [],
  notes: [],
  triggers: [],
  expiresAt: null,
  ...changes,
});

const view = (changes: Partial<ReportSubject>): ReportView => composeView(subject(changes));

describe('the view of an environment', () => {
  it('of a component is its newest version, what it runs, and which version answers meanwhile', () => {
    const reference = `shop@sha256:${'a'.repeat(64)}`;
    const image = { reference, tag: 'pr-7', commit: null, request: '1' };
    const observed = seen(
      part('web', at('1', 'ready'), { ...at('2', 'failing', 'it exited'), images: { shop: image } }),
      part('api', at('1', 'failing')),
      part('db', null),
    );
    const { components } = view({
      observed,
      resolved: [resolvedComponent('web', '2'), resolvedComponent('api', '2')],
    });
    expect(components).toEqual([
      {
        name: 'web',
        health: 'failing',
        message: 'it exited',
        commit: '2'.repeat(40),
        serving: '1'.repeat(40),
        images: [{ reference, tag: 'pr-7' }],
        entry: true,
      },
      { name: 'api', health: 'failing', message: '', commit: '1'.repeat(40), serving: null, images: [], entry: false },
    ]);
  });

  it('of a component that a newer commit does not change shows the newer commit', () => {
    const observed = seen(part('web', at('1', 'ready'), null));
    const { components } = view({ observed, resolved: [resolvedComponent('web', '1', '2')] });
    expect(components).toMatchObject([{ commit: '2'.repeat(40), serving: '2'.repeat(40) }]);
  });

  it('gives the times that the infrastructure knows', () => {
    const times = ({ createdAt, updatedAt, expiresAt }: ReportView) => [createdAt, updatedAt, expiresAt];
    const expiresAt = '2026-01-08T09:00:00.000Z';
    expect(times(view({ observed: seen(part('web', at('1', 'ready'))), expiresAt }))).toEqual([
      '2026-01-05T09:00:00.000Z',
      '2026-01-05T09:01:00.000Z',
      expiresAt,
    ]);
    expect(times(view({ observed: seen(part('web', null, at('1', 'starting'))) }))).toEqual([
      '2026-01-05T09:00:00.000Z',
      null,
      null,
    ]);
    expect(times(view({}))).toEqual([null, null, null]);
  });

  it('lists what it waits for, but not what fails or only finishes its requests', () => {
    const web = componentName('web');
    const actions: readonly Action[] = [
      { type: 'wait', code: 'reference.waiting', component: componentName('api'), reason: 'api waits for outputs/db/url' },
      { type: 'wait', code: 'policy.full', reason: 'the team has no room', until: '2026-01-05T10:00:00.000Z' },
      { type: 'wait', code: 'component.not_ready', component: web, reason: 'web does not get ready: it exited' },
      { type: 'wait', code: 'component.draining', component: web, reason: 'the version of web before this one is still in use' },
      { type: 'destroy', component: web, provider: providerName('process'), reason: 'web is no longer in eph.yaml' },
    ];
    const report = view({ actions, observed: seen(part('web', null, at('2', 'failing', 'it exited'))) });
    expect(report.waits).toEqual([
      { reason: 'api waits for outputs/db/url', until: null },
      { reason: 'the team has no room', until: '2026-01-05T10:00:00.000Z' },
    ]);
    expect(report.faults).toEqual(['web is not ready: it exited']);
  });

  it('lists every fault once, those of the file first', () => {
    const failures = ['eph.yaml:1:1: a', 'eph.yaml:2:1: b', 'eph.yaml:1:1: a'].map((text) => failure('spec.invalid', text));
    expect(view({ status: status('Failed', 'eph.yaml:1:1: a'), failures }).faults).toEqual([
      'eph.yaml:1:1: a',
      'eph.yaml:2:1: b',
    ]);
  });

  it('notes what is asked for in vain', () => {
    const conditions = [remark('Unsupported', 'hooks are not run yet'), remark('Held', 'too many')];
    const report = view({ status: { ...status('Ready'), conditions }, notes: ['the label preview:soon is not understood'] });
    expect(report.notes).toEqual(['hooks are not run yet', 'the label preview:soon is not understood']);
  });

  it('once it is gone is why, and how to bring it back', () => {
    const stale: readonly Action[] = [{ type: 'wait', code: 'plan.held', reason: 'the next complete pass decides' }];
    const report = view({
      status: undefined,
      because: 'branch preview/a is gone',
      actions: stale,
      expiresAt: '2026-01-08T09:00:00.000Z',
    });
    expect(report).toMatchObject({ phase: 'Removed', summary: 'branch preview/a is gone', waits: [], expiresAt: null });
    expect(report.restoreHint).toBe('Push the branch or tag again to bring it back.');
  });

  it('holds no secret and no more output than anybody reads', () => {
    registerSecret('correct-horse-battery');
    const output = `listening with correct-horse-battery\n${'x'.repeat(1_000_000)}\nthe end`;
    const report = view({ observed: seen(part('web', null, at('2', 'failing', output))) });
    expect(JSON.stringify(report)).not.toContain('correct-horse');
    expect(JSON.stringify(report).length).toBeLessThan(20_000);
    expect(report.faults[0]).toMatch(/^web is not ready: listening with \*\*\*[^]+left out[^]+the end$/);
  });

  it('is the same for the same world', () => {
    const same = () => view({ observed: seen(part('web', at('1', 'ready'))) });
    expect(isSameView(same(), same())).toBe(true);
    expect(isSameView(same(), { ...same(), expiresAt: '2026-01-08T09:00:00.000Z' })).toBe(false);
  });
});

describe('how it comes back', () => {
  const pull: SourceRef = { kind: 'pr', name: '7' };
  const label = (...labels: string[]): Trigger => ({ type: 'pr_label', labels });
  const comment = (...patterns: string[]): Trigger => ({ type: 'pr_comment', patterns });

  it.each<readonly [string, SourceRef, readonly Trigger[], string]>([
    ['a branch', { kind: 'branch', name: 'x' }, [label('preview')], 'Push the branch or tag again to bring it back.'],
    ['a label', pull, [label('preview')], 'Add the label “preview” on the open pull request to bring it back.'],
    [
      'a label or a comment',
      pull,
      [label('preview', 'qa'), { type: 'git_branch', patterns: ['x'] }, comment('/deploy')],
      'Add the label “preview” or “qa”, or comment “/deploy” on the open pull request to bring it back.',
    ],
    ['every pull request', pull, [label('preview'), { type: 'auto' }], 'Reopen the pull request to bring it back.'],
    ['nobody knows', pull, [], 'Reopen the pull request, or ask for the environment again, to bring it back.'],
  ])('%s', (_, source, triggers, sentence) => {
    expect(view({ source, triggers }).restoreHint).toBe(sentence);
  });

  it('does not repeat endless names', () => {
    const triggers = [label(...Array.from({ length: 50 }, (_, index) => `${index}${'🚢'.repeat(50_000)}`))];
    expect(view({ source: pull, triggers }).restoreHint.length).toBeLessThan(500);
  });
});
