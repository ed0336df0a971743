import { describe, expect, it } from 'vitest';
import { type ForgeChaosOptions, type ForgeChaosResult, runForgeChaos } from './forge-chaos.ts';

const never = new AbortController().signal;

const run = (options: Pick<ForgeChaosOptions, 'forge' | 'steps' | 'seed' | 'plant'>): Promise<ForgeChaosResult> =>
  runForgeChaos({ ...options, print: () => undefined, signal: never });

const invariantsOf = ({ violations }: ForgeChaosResult): readonly string[] => violations.map(({ invariant }) => invariant);

describe.each(['github', 'gitlab'] as const)('a %s that fails and truncates answers', (forge) => {
  it('makes Eph neither destroy a wanted environment nor leave one behind', { timeout: 300_000 }, async () => {
    const result = await run({ forge, steps: 60, seed: 7 });
    expect(result.violations, result.history.join('\n')).toEqual([]);
    expect(result).toMatchObject({ steps: 60, settles: 1, converged: 1 });
    expect(result.removals).toBeGreaterThan(0);
    expect(result.faults / result.requests).toBeGreaterThan(0.05);
  });
});

/** The faults wrap the adapter, so that any forge will do. */
describe('a planted fault', () => {
  it('is found if a truncated list is taken as complete', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'truncated-is-complete' });
    expect(invariantsOf(result)).toContain('a complete reading is complete');
  });

  it('is found if an outage is taken for a deletion', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'outage-is-gone' });
    expect(invariantsOf(result)).toContain('a source reported as gone is gone');
  });

  it('is found if an outage is taken for the absence of commands', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'outage-is-silence' });
    expect(invariantsOf(result)).toContain('no wanted environment is destroyed');
  });
});
