import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LabelRequests, readLabelRequests } from './labels.ts';

const nothing: LabelRequests = { paused: false, kept: false, notes: [] };

const publicNote = 'preview:public has no effect yet: environments are open to everybody who can reach them';

describe('labels', () => {
  it.each<readonly [string, readonly string[], Partial<LabelRequests>]>([
    ['may ask for nothing', [], {}],
    ['ask only for an environment with the prefix alone', ['preview'], {}],
    ['pause', ['preview', 'preview:pause'], { paused: true }],
    ['keep', ['preview:keep'], { kept: true }],
    ['open it to everybody, which it is', ['preview:public'], { notes: [publicNote] }],
    ['give it a time to live', ['preview:48h'], { ttlSeconds: 48 * 3600 }],
    ['give it a time of several parts', ['preview:1d12h'], { ttlSeconds: 36 * 3600 }],
    [
      'do all of it at once',
      ['a', 'preview', 'preview:7d', 'preview:keep', 'preview:pause', 'preview:public'],
      { paused: true, kept: true, ttlSeconds: 7 * 86_400, notes: [publicNote] },
    ],
    [
      'of another family say nothing',
      ['demo:48h', 'Preview:48h', 'previews:pause', 'preview-48h', '48h', ':48h', 'x preview:keep'],
      {},
    ],
  ])('%s', (_, labels, requests) => {
    expect(readLabelRequests(labels)).toEqual({ ...nothing, ...requests });
  });

  it.each([
    'preview:soon',
    'preview:',
    'preview:PAUSE',
    'preview: pause',
    'preview:pause ',
    'preview:48',
    'preview:48H',
    'preview:0h',
    'preview:-1h',
    'preview:1e3h',
    'preview:٤٨h',
    'preview:48h:pause',
    'preview:366d',
    'preview:1.h',
    'preview:Infinity',
    'preview:constructor',
    'preview:🚢',
  ])('with the prefix that are invalid are noted: %s', (label) => {
    const requests = readLabelRequests(['preview', label]);
    expect(requests).toEqual({ ...nothing, notes: [expect.stringContaining(`${label}: use preview:pause`)] });
  });

  it.each([`preview:${'9'.repeat(100_000)}h`, `preview:${'1h'.repeat(50_000)}`, `preview:${'日'.repeat(100_000)}`])(
    'may be as long as they like: %.20s',
    (label) => {
      const { notes, ...rest } = readLabelRequests([label]);
      expect(rest).toEqual({ paused: false, kept: false });
      expect(notes.map((note) => note.length < 300)).toEqual([true]);
    },
  );

  it('that name several times mean the longest, with a note', () => {
    expect(readLabelRequests(['preview:2d', 'preview:48h', 'preview:30m', 'preview:7d'])).toEqual({
      ...nothing,
      ttlSeconds: 7 * 86_400,
      notes: ['preview:2d, preview:30m, preview:48h, preview:7d: the longest time applies'],
    });
  });

  it('that are invalid get one note, however many there are', () => {
    const { notes } = readLabelRequests(Array.from({ length: 1000 }, (_, index) => `preview:later ${index}`));
    expect(notes).toEqual([expect.stringContaining('and 995 more')]);
  });

  it('mean the same in any order, and however often they are there', () => {
    const word = fc.oneof(fc.constantFrom('pause', 'keep', 'public', '48h', '7d', '1h30m', 'soon'), fc.string({ maxLength: 5 }));
    const label = fc.oneof(
      word.map((one) => `preview:${one}`),
      word,
      fc.constant('preview'),
    );
    fc.assert(
      fc.property(fc.array(label), (labels) => {
        const requests = readLabelRequests(labels);
        expect(readLabelRequests(labels.toReversed())).toEqual(requests);
        expect(readLabelRequests([...labels, ...labels])).toEqual(requests);
        expect(requests.paused).toBe(labels.includes('preview:pause'));
      }),
    );
  });
});
