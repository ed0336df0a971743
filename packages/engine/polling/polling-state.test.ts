import { describe, expect, it } from 'vitest';
import { explainPolling, type PollingState } from './polling-state.ts';

const state = (changes: Partial<PollingState>): PollingState => ({
  account: 'github',
  intervalMs: 0,
  isAnnounced: false,
  sharing: 3,
  waitMs: 0,
  ...changes,
});

describe('how often a repository is read', () => {
  it.each<readonly [string, Partial<PollingState>, string]>([
    ['few repositories', {}, 'Its repository is read every 30 s: no webhook of it has arrived.'],
    [
      'many repositories',
      { intervalMs: 533_000, sharing: 2_000 },
      'Its repository is read every 9 min: 2000 repositories share the limit of github, and no webhook of it has arrived.',
    ],
    ['webhooks', { intervalMs: 600_000, isAnnounced: true }, 'Its repository is read when a webhook arrives, and every 10 min.'],
    [
      'doubt',
      { waitMs: 31_200 },
      'The last reading of its repository left something unknown; the next one comes in 32 s, or with a webhook.',
    ],
  ])('is said with %s', (_, changes, sentence) => {
    expect(explainPolling(state(changes))).toBe(sentence);
  });
});
