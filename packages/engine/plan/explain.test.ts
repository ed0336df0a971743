import { componentName, providerName, revision } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type Explainable, explain } from './explain.ts';

const subject = (changes: Partial<Explainable>): Explainable => ({
  sourceName: 'branch preview/login',
  commit: '0123456789abcdef0123456789abcdef01234567',
  decision: 'wanted',
  because: 'branch preview/login matches preview/** (trigger git_branch)',
  exists: true,
  held: false,
  actions: [],
  status: undefined,
  away: [],
  ...changes,
});

const status = (phase: 'Pending' | 'Ready' | 'Failed' | 'Removing', summary: string): Explainable['status'] => ({
  phase,
  summary,
  conditions: [],
});
const withImages = (message: string): Explainable['status'] => {
  const condition = { type: 'ImagesResolved', status: 'True', reason: 'Resolved', message } as const;
  return {
    phase: 'Ready',
    summary: '',
    conditions: [{ ...condition, lastTransitionTime: '2026-03-01T12:00:00.000Z', observedGeneration: '' }],
  };
};
const wanted = 'It is wanted because branch preview/login matches preview/** (trigger git_branch).';
const asked = 'Git asks for commit 0123456789ab of branch preview/login.';

describe('why', () => {
  it.each<readonly [string, Partial<Explainable>, readonly string[]]>([
    [
      'it is what was seen last',
      { status: status('Ready', ''), away: ['provider local could not be read: no answer'] },
      [wanted, asked, 'provider local could not be read: no answer; what it holds is left as it is.', 'It is as it should be.'],
    ],
    ['it is there', { status: status('Ready', '') }, [wanted, asked, 'It is as it should be.']],
    [
      'it is not there yet',
      {
        exists: false,
        status: status('Pending', 'web does not exist yet'),
        actions: [
          {
            type: 'create',
            component: componentName('web'),
            provider: providerName('process'),
            revision: revision('0'.repeat(16)),
            reason: 'web does not exist yet',
          },
        ],
      },
      [wanted, asked, 'Next: create web: web does not exist yet.', 'Pending: web does not exist yet.'],
    ],
    [
      'it waits',
      {
        actions: [
          {
            type: 'wait',
            component: componentName('web'),
            code: 'reference.waiting',
            reason: 'outputs/api/url: api is not ready yet',
          },
        ],
      },
      [wanted, asked, 'It waits: outputs/api/url: api is not ready yet.'],
    ],
    [
      'it waits for an image, which its summary says, too',
      {
        status: status('Pending', 'web waits for image api: there is no tag'),
        actions: [
          {
            type: 'wait',
            component: componentName('web'),
            code: 'artifact.missing',
            reason: 'web waits for image api: there is no tag',
            until: '2026-03-01T12:30:59.999Z',
          },
        ],
      },
      [wanted, asked, 'It waits until 2026-03-01 12:30 UTC: web waits for image api: there is no tag.', 'It is Pending.'],
    ],
    [
      'it runs images',
      { status: withImages('api is ghcr.io/acme/api:pr-7 (sha256:0123456789ab)') },
      [wanted, asked, 'Images: api is ghcr.io/acme/api:pr-7 (sha256:0123456789ab).', 'It is as it should be.'],
    ],
    [
      'it runs many images',
      { status: withImages(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => `${name} is x`).join('; ')) },
      [wanted, asked, 'Images: a is x; b is x; c is x; d is x; e is x; f is x; and 2 more.', 'It is as it should be.'],
    ],
    ['it failed', { status: status('Failed', 'web does not get ready') }, [wanted, asked, 'Failed: web does not get ready.']],
    ['it failed, in a sentence', { status: status('Failed', 'It fell.') }, [wanted, asked, 'Failed: It fell.']],
    [
      'it goes',
      {
        decision: 'unwanted',
        because: 'branch preview/login is gone',
        commit: undefined,
        status: status('Removing', 'being removed: branch preview/login is gone'),
        actions: [
          {
            type: 'destroy',
            component: componentName('web'),
            provider: providerName('process'),
            reason: 'branch preview/login is gone',
          },
        ],
      },
      [
        'It is not wanted: branch preview/login is gone.',
        'Next: destroy web: branch preview/login is gone.',
        'Removing: being removed: branch preview/login is gone.',
      ],
    ],
    [
      'it is held',
      { decision: 'unwanted', because: 'branch preview/login is gone', commit: undefined, held: true },
      [
        'It is not wanted: branch preview/login is gone.',
        'Its removal is held until an operator releases it: `eph release` lets it go.',
      ],
    ],
    [
      'it is left alone',
      { decision: 'unknown', because: 'eph.yaml could not be read: no answer' },
      ['Whether it is wanted is unknown, so it is left as it is: eph.yaml could not be read: no answer.', asked],
    ],
  ])('%s', (_, changes, lines) => {
    expect(explain(subject(changes))).toEqual(lines);
  });
});
