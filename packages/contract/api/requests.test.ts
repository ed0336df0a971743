import { describe, expect, it } from 'vitest';
import { planRequestSchema } from './requests.ts';

describe('a plan', () => {
  it.each([
    ['a'.repeat(40), true],
    ['a'.repeat(64), true],
    ['a'.repeat(39), false],
    ['a'.repeat(41), false],
    ['A'.repeat(40), false],
    ['main', false],
  ])('is made for whole commits of both kinds of repositories: %s, %s', (commit, isWhole) => {
    expect(planRequestSchema.safeParse({ source: { kind: 'pr', name: '1' }, commit }).success).toBe(isWhole);
  });
});
