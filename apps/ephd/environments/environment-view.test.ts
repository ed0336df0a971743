import { type Condition, commitSha, type EnvironmentStatus } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createReadyRecord } from '../environment-record.fake.ts';
import { viewEnvironment } from './environment-view.ts';

const addresses = { urlOf: (name: string) => `http://${name}.localhost`, aliasOf: () => undefined, away: () => new Map() };

const statusAt = (observedGeneration: string, phase: EnvironmentStatus['phase'], summary = ''): EnvironmentStatus => {
  const status = phase === 'Ready' ? 'True' : 'False';
  const lastTransitionTime = '2026-01-05T09:00:00.000Z';
  const condition: Condition = {
    type: 'Ready',
    status,
    reason: 'Answering',
    message: '',
    lastTransitionTime,
    observedGeneration,
  };
  return { phase, summary, conditions: [condition] };
};

describe('the headline of an environment', () => {
  const known = createReadyRecord('preview/x');
  const commit = known.source?.commit ?? '';
  const before = commitSha('c'.repeat(40));

  it('is the phase that the last look at the commit found', () => {
    expect(viewEnvironment({ ...known, status: statusAt(commit, 'Ready') }, addresses)).toMatchObject({ commit, phase: 'Ready' });
  });

  it('does not call a commit ready because the one before it was', () => {
    const view = viewEnvironment({ ...known, status: statusAt(before, 'Ready') }, addresses);
    expect(view).toMatchObject({ commit, phase: 'Progressing', summary: expect.stringContaining(commit.slice(0, 12)) });
  });

  it('keeps any other phase until the next look', () => {
    const view = viewEnvironment({ ...known, status: statusAt(before, 'Degraded', 'it limps') }, addresses);
    expect(view).toMatchObject({ phase: 'Degraded', summary: 'it limps' });
  });

  it('says that it was just noticed before the first look', () => {
    expect(viewEnvironment({ ...known, status: undefined }, addresses)).toMatchObject({
      phase: 'Pending',
      summary: 'just noticed',
    });
  });
});
