import type { Condition } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fact, transition } from './conditions.ts';

const earlier = '2026-01-05T09:00:00.000Z';
const now = '2026-01-05T10:00:00.000Z';

const ready = (status: Fact['status'], reason = 'Answering', message = 'it answers'): Fact => ({
  type: 'Ready',
  status,
  reason,
  message,
});
const before = (status: Fact['status']): Condition => ({
  ...ready(status),
  lastTransitionTime: earlier,
  observedGeneration: 'old',
});

describe('a condition', () => {
  it.each<readonly [string, readonly Condition[], Fact, string]>([
    ['that is new began now', [], ready('True'), now],
    ['that turned began now', [before('True')], ready('False'), now],
    ['that became uncertain began now', [before('True')], ready('Unknown'), now],
    ['that stayed began when it began', [before('True')], ready('True'), earlier],
    ['that stayed for another reason began when it began', [before('False')], ready('False', 'SpecInvalid', 'line 3'), earlier],
    ['is compared with the one of its own type', [{ ...before('True'), type: 'Stalled' }], ready('True'), now],
  ])('%s', (_, previous, fact, lastTransitionTime) => {
    expect(transition(previous, [fact], 'new', now)).toEqual([{ ...fact, lastTransitionTime, observedGeneration: 'new' }]);
  });

  it('that is not reported any more is gone', () => {
    expect(transition([before('True')], [], 'new', now)).toEqual([]);
  });

  it('moves its time exactly when its status moves, whatever the history', () => {
    const status = fc.constantFrom<Fact['status']>('True', 'False', 'Unknown');
    fc.assert(
      fc.property(fc.array(status, { minLength: 1 }), (history) => {
        let conditions: readonly Condition[] = [];
        for (const [hour, one] of history.entries())
          conditions = transition(conditions, [ready(one, `Reason${hour}`)], String(hour), String(hour));
        const last = history.length - 1;
        const turned = history.findLastIndex((one, index) => one !== history[index - 1]);
        expect(conditions).toMatchObject([
          {
            status: history[last],
            reason: `Reason${last}`,
            lastTransitionTime: String(turned),
            observedGeneration: String(last),
          },
        ]);
      }),
    );
  });
});
