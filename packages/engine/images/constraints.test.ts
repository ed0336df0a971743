import { describe, expect, it } from 'vitest';
import { findObjection, type ImageDetails, madeAtOf, needsDetails } from './constraints.ts';
import { createImageRequest, firstCommit, secondCommit } from './image-request.fake.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const committedAt = now - 3_600_000;
const day = 86_400;
const candidate = { repository: 'registry.example/acme/api', reference: 'pr-7', kind: 'named' } as const;
const doubtful = { ...candidate, kind: 'doubtful' } as const;

const details = (changes: Partial<ImageDetails> = {}): ImageDetails => ({
  state: 'found',
  created: new Date(now - 60_000),
  labels: {},
  ...changes,
});

describe('an image', () => {
  it.each([
    ['that is younger than max_age', { maxAgeSeconds: day }, details(), undefined],
    ['that is too old', { maxAgeSeconds: day }, details({ created: new Date(now - 2 * day * 1000) }), 'is older than 1d'],
    ['without a time', { maxAgeSeconds: day }, details({ created: undefined }), expect.stringContaining('does not say when')],
    ['from 1970', { maxAgeSeconds: day }, details({ created: new Date(0) }), expect.stringContaining('does not say when')],
    [
      'from next year',
      { maxAgeSeconds: day },
      details({ created: new Date(now + 365 * day * 1000) }),
      expect.stringContaining('when'),
    ],
    [
      'from 1970 with a label that says when it was built',
      { maxAgeSeconds: day },
      details({ created: new Date(0), labels: { 'eph.io/built-at': '2026-03-01T11:00:00Z' } }),
      undefined,
    ],
    ['with the labels that are required', { requiredLabels: { a: 'b' } }, details({ labels: { a: 'b', c: 'd' } }), undefined],
    ['without a label that is required', { requiredLabels: { a: 'b' } }, details(), 'has no label a'],
    ['with another value', { requiredLabels: { a: 'b' } }, details({ labels: { a: 'x\ny' } }), 'has another label a than b'],
    ['with a label of every object', { requiredLabels: { constructor: 'b' } }, details(), 'has no label constructor'],
  ])('%s', (_, image, found, objection) => {
    expect(findObjection(createImageRequest(image), candidate, found, { now, committedAt })).toEqual(objection);
  });
});

describe('a tag that does not name the commit', () => {
  it.each([
    ['counts where its label is the commit', details({ labels: { 'eph.io/commit': firstCommit } }), undefined],
    [
      'counts where its revision is the commit',
      details({ labels: { 'org.opencontainers.image.revision': firstCommit } }),
      undefined,
    ],
    [
      'counts where one of both labels is the commit',
      details({ labels: { 'eph.io/commit': secondCommit, 'org.opencontainers.image.revision': firstCommit } }),
      undefined,
    ],
    [
      'does not count where its label is another commit, however young it is',
      details({ labels: { 'eph.io/commit': secondCommit } }),
      'was built from another commit',
    ],
    ['counts without a label where it is younger than the commit', details(), undefined],
    [
      'does not count where it is older than the commit',
      details({ created: new Date(committedAt - 1) }),
      'is older than the commit',
    ],
    ['does not count where it says nothing', details({ created: undefined }), expect.stringContaining('says neither')],
  ])('%s', (_, found, objection) => {
    expect(findObjection(createImageRequest(), doubtful, found, { now, committedAt })).toEqual(objection);
  });
});

it('a fall-back is held against nothing but its platform', () => {
  const fallback = { ...candidate, kind: 'fallback' } as const;
  const limits = { maxAgeSeconds: day, requiredLabels: { 'eph.io/commit': firstCommit } };
  expect(needsDetails(createImageRequest(limits), fallback)).toBe(false);
  expect(needsDetails(createImageRequest({ ...limits, platform: 'linux/arm64' }), fallback)).toBe(true);
  const old = details({ created: new Date(0) });
  expect(findObjection(createImageRequest(limits), fallback, old, { now, committedAt })).toBeUndefined();
});

it('nothing is read of an image that nothing is asked of', () => {
  expect(needsDetails(createImageRequest(), candidate)).toBe(false);
  expect(needsDetails(createImageRequest(), doubtful)).toBe(true);
  expect(needsDetails(createImageRequest({ platform: 'linux/arm64' }), candidate)).toBe(true);
});

it('a clock that is a little ahead does not make a time unusable', () => {
  expect(madeAtOf(details({ created: new Date(now + 60_000) }), now)).toBe(now + 60_000);
});
