import { describe, expect, it } from 'vitest';
import { type ForgeChaosOptions, type ForgeChaosResult, runForgeChaos } from './forge-chaos.ts';

const never = new AbortController().signal;

const run = (options: Pick<ForgeChaosOptions, 'forge' | 'steps' | 'seed' | 'plant'>): Promise<ForgeChaosResult> =>
  runForgeChaos({ ...options, print: () => undefined, signal: never });

const invariantsOf = ({ violations }: ForgeChaosResult): readonly string[] => violations.map(({ invariant }) => invariant);

describe.each(['github', 'gitlab'] as const)('a %s that fails and cuts short', (forge) => {
  it('makes Eph destroy nothing wrongly and leave nothing behind', { timeout: 300_000 }, async () => {
    const result = await run({ forge, steps: 150, seed: 7 });
    expect(result.violations, result.history.join('\n')).toEqual([]);
    expect(result).toMatchObject({ steps: 150, settles: 1, converged: 1 });
    expect(result.removals).toBeGreaterThan(0);
    expect(result.faults / result.requests).toBeGreaterThan(0.05);
  });
});

/** Around the adapter, so that one forge is as good as another. */
describe('a fault put in on purpose', () => {
  it('is found when what arrived of a list is taken for all of it', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'truncated-is-complete' });
    expect(invariantsOf(result)).toContain('a complete reading is complete');
  });

  it('is found when an outage is taken for a deletion', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'outage-is-gone' });
    expect(invariantsOf(result)).toContain('what is said to be gone is gone');
  });

  it('is found when an outage is taken for silence, by what is destroyed', { timeout: 300_000 }, async () => {
    const result = await run({ forge: 'github', steps: 1_000, seed: 7, plant: 'outage-is-silence' });
    expect(invariantsOf(result)).toContain('nothing is destroyed that is wanted');
  });
});
