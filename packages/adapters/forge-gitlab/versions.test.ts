import { describe, expect, it } from 'vitest';
import { headAt } from './versions.ts';

const [first, second] = ['1'.repeat(40), '2'.repeat(40)];
const version = (id: number, second: number, sha: string) => ({
  id,
  head_commit_sha: sha,
  created_at: `2026-03-01T12:00:${String(second).padStart(2, '0')}.000Z`,
});

describe('the head of a merge request at a moment', () => {
  const versions = [version(7, 30, second), version(3, 10, first)];

  it.each([
    ['before GitLab knew of any', '2026-03-01T12:00:09.999Z', null],
    ['since the first', '2026-03-01T12:00:10.000Z', first],
    ['just before a push', '2026-03-01T12:00:29.999Z', first],
    ['with a push', '2026-03-01T12:00:30.000Z', second],
    ['long after', '2026-04-01T00:00:00.000Z', second],
    ['in another zone', '2026-03-01T13:00:20.000+01:00', first],
    ['at no time at all', 'soon', null],
  ])('%s', (_when, at, head) => {
    expect(headAt(versions, at)).toBe(head);
  });

  it('is the later of two within one moment', () => {
    expect(headAt([version(1, 10, first), version(2, 10, second)], '2026-03-01T12:00:10.000Z')).toBe(second);
  });

  it('is unknown where GitLab names no commit', () => {
    expect(headAt([version(1, 10, '')], '2026-03-01T12:00:11.000Z')).toBeNull();
  });
});
