import { phases, type ReportView } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { computeCommitStatus } from './commit-status.ts';
import { createView } from './view.fake.ts';

describe('the status of a commit', () => {
  it('is green only when the wanted version answers', () => {
    const green = [...phases, 'Removed' as const].filter(
      (phase) => computeCommitStatus(createView({ phase })).state === 'success',
    );
    expect(green).toEqual(['Ready']);
  });

  it.each<readonly [ReportView['phase'], string, string, string]>([
    ['Ready', '', 'success', 'Ready'],
    ['Progressing', 'web is\n starting', 'pending', 'Progressing: web is starting'],
    ['Degraded', 'web does not get ready', 'failure', 'Degraded: web does not get ready'],
    ['Removed', 'branch a is gone', 'inactive', 'Removed: branch a is gone'],
    ['Failed', '\u202e\u0000\u001b[31mred\u001b[0m', 'failure', 'Failed: \ufffd\ufffdred'],
    ['Failed', '🚢'.repeat(500_000), 'failure', `Failed: ${'🚢'.repeat(131)}…`],
  ])('%s', (phase, summary, state, description) => {
    expect(computeCommitStatus(createView({ phase, summary }))).toEqual({ state, description });
  });
});
