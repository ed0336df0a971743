import { describe, expect, it } from 'vitest';
import { computeHeadsAtComments } from './push-history.ts';
import type { TimelineShape } from './shapes.ts';

let ids = 0;
const event = (type: string, body: string): TimelineShape => {
  ids += 1;
  return { id: ids, type, body, created_at: '2026-01-05T09:00:00Z' };
};
const comment = (): TimelineShape => event('comment', '/deploy');
const push = (...commits: readonly string[]): TimelineShape =>
  event('pull_push', JSON.stringify({ is_force_push: false, commit_ids: commits }));
const force = (before: string, after: string): TimelineShape =>
  event('pull_push', JSON.stringify({ is_force_push: true, commit_ids: [before, after] }));

/** The head at each comment, in the order of the comments. */
const headsAt = (...events: readonly TimelineShape[]): readonly (string | undefined)[] => {
  const found = computeHeadsAtComments(events);
  return events.filter(({ type }) => type === 'comment').map(({ id }) => found.get(id));
};

describe('the head when a comment was written', () => {
  it('is the newest commit of the last push before it', () => {
    expect(headsAt(push('a'), comment(), event('label', '1'), push('b', 'c'), comment(), push('d'), comment())).toEqual([
      'a',
      'c',
      'd',
    ]);
  });

  it('is not known before the first push that was noted', () => {
    expect(headsAt(comment(), push('a'), comment())).toEqual([undefined, 'a']);
    expect(headsAt(comment())).toEqual([undefined]);
  });

  it('is not known for the time before a forced push: others may have been struck from the history', () => {
    expect(headsAt(push('a'), comment(), force('a', 'x'), comment(), push('y'), comment())).toEqual([undefined, 'x', 'y']);
    expect(headsAt(push('a'), comment(), force('b', 'a'), comment())).toEqual([undefined, 'a']);
  });

  it.each(['', 'nonsense', '{}', '{"is_force_push":"no","commit_ids":[]}', '{"is_force_push":false}'])(
    'is not known around a push that says %j',
    (body) => {
      expect(headsAt(push('a'), comment(), event('pull_push', body), comment(), push('b'), comment())).toEqual([
        undefined,
        undefined,
        'b',
      ]);
    },
  );
});
