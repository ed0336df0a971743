import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../test/parts/github/http/failures.ts';
import { classifyAnswer } from '../forge-http/answer.ts';
import { githubAnswers, isThrottle } from './answers.ts';
import { startGithubHarness } from './github-harness.fake.ts';

const pull = { kind: 'pr', name: '1' } as const;

/** Each as it comes over the wire, in place of every answer. */
const failures: readonly (readonly [name: string, failure: Failure, code: string])[] = [
  ['401', { kind: 'status', status: 401 }, 'forge.refused'],
  ['403', { kind: 'status', status: 403 }, 'forge.refused'],
  ['403 with a pause', { kind: 'secondary-limit', status: 403, retryAfterSeconds: 30 }, 'forge.unreachable'],
  ['403 that speaks of a secondary limit', { kind: 'secondary-limit', status: 403 }, 'forge.unreachable'],
  ['404', { kind: 'status', status: 404 }, 'forge.refused'],
  ['409', { kind: 'status', status: 409 }, 'forge.refused'],
  ['410', { kind: 'status', status: 410 }, 'forge.refused'],
  ['422', { kind: 'status', status: 422 }, 'forge.refused'],
  ['429', { kind: 'status', status: 429 }, 'forge.unreachable'],
  ['429 with a pause', { kind: 'secondary-limit', status: 429, retryAfterSeconds: 30 }, 'forge.unreachable'],
  ['451', { kind: 'status', status: 451 }, 'forge.refused'],
  ['500', { kind: 'status', status: 500 }, 'forge.unreachable'],
  ['502', { kind: 'status', status: 502 }, 'forge.unreachable'],
  ['503', { kind: 'status', status: 503 }, 'forge.unreachable'],
  ['a status nobody has heard of', { kind: 'status', status: 418 }, 'forge.incomplete'],
  ['a redirect to nowhere', { kind: 'status', status: 304 }, 'forge.incomplete'],
  ['a broken connection', { kind: 'reset' }, 'forge.unreachable'],
  ['a body that breaks off', { kind: 'truncated', ending: 'broken' }, 'forge.unreachable'],
  ['half a body that seems whole', { kind: 'truncated', ending: 'clean' }, 'forge.incomplete'],
];

/** Without Git, which would wait a minute for an answer. */
const api = { path: /^\/(?!.*\.git\/)/ };

describe.each(failures)('%s', (_name, failure, code) => {
  it('makes the list incomplete and one pull request unknown, and both recover', async () => {
    let nowMs = Date.now();
    const { github, forge, readPulls, openPulls, signal } = await startGithubHarness({ server: { now: () => nowMs } });
    openPulls(4);
    github.failures.add({ failure, match: api });
    const fault = { code, message: expect.stringMatching(/\S/) };
    expect(await readPulls()).toMatchObject({ items: [], complete: false, faults: [fault] });
    expect(await forge.source(pull, signal)).toMatchObject({ state: 'unknown' });
    github.failures.clear();
    nowMs += 3_600_000;
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 4 } });
    expect(await forge.source(pull, signal)).toMatchObject({ state: 'present' });
  });

  it('has the same text each time, so that it does not look like a new failure', async () => {
    let nowMs = Date.now();
    const { github, forge, openPulls, signal } = await startGithubHarness({ server: { now: () => nowMs } });
    openPulls(1);
    github.failures.add({ failure, match: api });
    const read = async () => (await forge.sources(signal)).faults.map(({ message }) => message);
    const first = await read();
    nowMs += 3_600_000;
    expect(await read()).toEqual(first);
  });
});

describe.each(failures)('%s for Git', (_name, failure) => {
  it('leaves branches unknown and pull requests known, and both recover', async () => {
    const { github, forge, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    github.failures.add({ failure, match: { path: /\.git\// } });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, items: { length: 3 }, faults: [{}] });
    expect(await forge.source({ kind: 'branch', name: 'nowhere' }, signal)).toMatchObject({ state: 'unknown' });
    github.failures.clear();
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 7 } });
    expect(await forge.source({ kind: 'branch', name: 'nowhere' }, signal)).toEqual({ state: 'gone' });
  });
});

describe('a budget that is spent', () => {
  it('is a pause until the count starts over, and is not asked for in between', async () => {
    let nowMs = Date.now();
    const { github, forge, readPulls, openPulls, countApiRequests, signal } = await startGithubHarness({
      github: { now: () => nowMs },
      server: { now: () => nowMs },
    });
    openPulls(3);
    github.rateLimits.leave(0);
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.unreachable' }] });
    const before = countApiRequests();
    expect(await forge.sources(signal)).toMatchObject({
      complete: false,
      faults: [{ code: 'forge.unreachable', retryAfterMs: expect.any(Number) }],
    });
    expect(countApiRequests()).toBe(before);
    nowMs += 2 * 3_600_000;
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 3 } });
  });
});

describe('the table', () => {
  it.each([
    [403, { 'x-ratelimit-remaining': '0' }, 'retry'],
    [403, { 'retry-after': '7' }, 'retry'],
    [403, { 'x-ratelimit-remaining': '4999' }, 'refused'],
    [404, {}, 'gone'],
    [599, {}, 'retry'],
    [302, {}, 'incomplete'],
  ])('says of %i with %j: %s', (status, headers, meaning) => {
    expect(
      classifyAnswer(githubAnswers, { status, headers: new Headers(headers as Record<string, string>), body: '' }, 'x', 0)
        .meaning,
    ).toBe(meaning);
  });

  it.each([
    [403, 'You have exceeded a secondary rate limit. Please wait', true],
    [429, 'You have triggered an abuse detection mechanism', true],
    [403, 'Resource not accessible by integration', false],
    [200, 'secondary rate limit', false],
  ])('knows limits by their words: %i "%s"', (status, body, expected) => {
    expect(isThrottle({ status, body })).toBe(expected);
  });
});

describe('what cannot be seen', () => {
  it('is unknown when the whole repository cannot be seen, and gone when it alone cannot', async () => {
    const { repository, forge, openPulls, signal } = await startGithubHarness();
    const [first] = openPulls(4);
    await forge.sources(signal);
    expect(await forge.source({ kind: 'pr', name: '99' }, signal)).toEqual({ state: 'gone' });
    first?.close();
    expect(await forge.source(pull, signal)).toEqual({ state: 'gone' });
    repository.delete();
    expect(await forge.source({ kind: 'pr', name: '2' }, signal)).toMatchObject({ state: 'unknown' });
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
  });

  it('stays what it is under another name', async () => {
    const { repository, forge, readPulls, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    repository.rename('store');
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 3 } });
    expect(await forge.source(pull, signal)).toMatchObject({ state: 'present' });
  });
});
