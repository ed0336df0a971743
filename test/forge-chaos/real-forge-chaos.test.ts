import { expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { gitea } from '../parts/gitea.ts';
import { runForgeChaos } from './forge-chaos.ts';

describeWith(gitea, 'a real Gitea behind a proxy that fails and truncates answers', () => {
  it('makes Eph neither destroy a wanted environment nor leave one behind', { timeout: 300_000 }, async () => {
    const { signal } = new AbortController();
    const result = await runForgeChaos({ forge: 'gitea', steps: 40, seed: 7, print: () => undefined, signal });
    expect(result.violations, result.history.join('\n')).toEqual([]);
    expect(result).toMatchObject({ steps: 40, settles: 1, converged: 1 });
    expect(result.faults / result.requests).toBeGreaterThan(0.05);
  });
});
