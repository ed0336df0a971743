import { commitSha, EphError, type PinnedImage, type WantedImage } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createImageRequest, firstCommit, secondCommit } from './image-request.fake.ts';
import { ImageResolver } from './image-resolver.ts';
import { FakeRegistry, type RegistryRequest } from './registry.fake.ts';
import { describeResolver } from './resolver.contract.ts';
import type { ImageAnswer, ImageRequest } from './resolver.ts';

const minute = 60_000;
const begin = Date.parse('2026-03-01T12:00:00Z');
const repository = 'registry.example/acme/api';
const short = firstCommit.slice(0, 7);

/** A resolver over a registry in memory, and a clock that stands still. */
class Fixture {
  now = begin;
  readonly requests: RegistryRequest[] = [];
  readonly notes = new Map<string, string>();
  failure: EphError | undefined;
  /** Tags and repositories that are refused. */
  readonly refused = new Set<string>();
  /** Nobody is answered before. */
  answered = Promise.resolve();
  readonly registry = new FakeRegistry({
    disturb: async (request) => {
      this.requests.push(request);
      await this.answered;
      const { repository: asked, reference = '' } = request;
      const isRefused = this.refused.has(reference) || this.refused.has(asked);
      const failure = isRefused ? new EphError('registry.refused', `${asked} is not shown.`) : this.failure;
      if (failure !== undefined) throw failure;
    },
  });
  readonly resolver = new ImageResolver({
    registry: this.registry,
    readNote: (_, notes) => Promise.resolve(this.notes.get(notes)),
    now: () => this.now,
    times: { fallbackAfterMs: 10 * minute, giveUpAfterMs: 30 * minute, freshForMs: 30_000 },
  });

  resolve(image: Partial<WantedImage> = {}, changes: Parameters<typeof createImageRequest>[1] = {}): Promise<ImageAnswer> {
    const times = () => Promise.resolve({ requestedAt: begin, committedAt: begin - 5 * minute, seenAt: begin });
    return this.resolver.resolve(
      createImageRequest({ tag: undefined, ...image } as Partial<WantedImage>, { times, ...changes }),
      new AbortController().signal,
    );
  }

  async find(image: Partial<WantedImage>, changes: Parameters<typeof createImageRequest>[1] = {}): Promise<PinnedImage> {
    const answer = await this.resolve(image, changes);
    if (answer.state !== 'found') throw new Error(answer.fault.message);
    return answer.image;
  }

  /** Published a minute ago, unless it says otherwise. */
  publish(tag: string, labels: Record<string, string> = {}, created = new Date(this.now - minute), of = repository): string {
    return `${of}@${this.registry.publish(of, tag, { created, labels: { tag, ...labels } })}`;
  }

  wait(ms: number): void {
    this.now += ms;
  }
}

const tag = (text: string) => ({ tag: { text } });
const pattern = (text: string) => ({ pattern: { text } });

describe('the resolver over a registry', () => {
  describeResolver(() => {
    const fixture = new Fixture();
    return Promise.resolve({
      resolver: fixture.resolver,
      now: () => fixture.now,
      publish: (commit, content) => {
        fixture.registry.publish(repository, `build-${commit.slice(0, 7)}`, { labels: { content } });
        return Promise.resolve();
      },
      expire: () => fixture.wait(minute),
      silence: () => {
        fixture.failure = new EphError('registry.unreachable', 'no answer');
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(fixture.resolver[Symbol.dispose]()),
    });
  });
});

describe('ways of looking', () => {
  it('take the comment first, then the note, a check, the template and the newest tag', async () => {
    const fixture = new Fixture();
    const image = { ...tag(`t-${short}`), ...pattern('pr-*'), notes: 'eph-images' };
    const byScan = fixture.publish(`pr-${short}`);
    expect((await fixture.find(image)).reference).toBe(byScan);
    const byTemplate = fixture.publish(`t-${short}`);
    fixture.wait(minute);
    expect((await fixture.find(image)).reference).toBe(byTemplate);
    const byCheck = fixture.publish('check');
    const checks = () => Promise.resolve([{ name: 'build', state: 'success', text: `eph-image: ${repository}:check` } as const]);
    expect((await fixture.find(image, { checks })).reference).toBe(byCheck);
    const byNote = fixture.publish('note');
    fixture.notes.set('eph-images', `eph-images: api=${repository}:note`);
    expect((await fixture.find(image, { checks })).reference).toBe(byNote);
    const byComment = fixture.publish('comment', {}, new Date(fixture.now), 'ghcr.io/acme/other');
    const text = '/deploy --image=api=ghcr.io/acme/other:comment';
    const command = { id: '1', text, author: 'alice', mayWrite: true, at: '', commit: firstCommit };
    expect(await fixture.find(image, { checks, command })).toMatchObject({
      reference: byComment,
      tag: 'comment',
      commit: firstCommit,
    });
  });

  it('read the notes that git writes by default, too', async () => {
    const fixture = new Fixture();
    const published = fixture.publish('note');
    fixture.notes.set('commits', `eph-image: ${repository}:note`);
    expect((await fixture.find({ notes: 'eph-images' })).reference).toBe(published);
    expect(await fixture.resolve({})).toMatchObject({ state: 'missing' });
  });

  it('believe nothing that anybody says about a fork', async () => {
    const fixture = new Fixture();
    fixture.publish('note');
    fixture.notes.set('eph-images', `eph-image: ${repository}:note`);
    const text = `/deploy --image=${repository}:note`;
    const command = { id: '1', text, author: 'mallory', mayWrite: true, at: '', commit: firstCommit };
    const checks = () => Promise.resolve([{ name: 'build', state: 'success', text: `eph-image: ${repository}:note` } as const]);
    const request = createImageRequest();
    const pull = {
      title: '',
      author: 'mallory',
      draft: false,
      labels: [],
      head: 'x',
      base: 'main',
      fork: 'mallory/shop',
      page: '',
      touched: '',
    };
    const source = { ...request.source, ref: { kind: 'pr', name: '7' } as const, pull };
    expect(await fixture.resolve({ notes: 'eph-images' }, { source, command, checks })).toMatchObject({ state: 'missing' });
  });

  it('leave out what policy does not allow, and say so', async () => {
    const fixture = new Fixture();
    fixture.notes.set('eph-images', 'eph-image: evil.example/x:1');
    const isAllowed = (one: string) => one.startsWith('registry.example/');
    const answer = await fixture.resolve({ notes: 'eph-images' }, { isAllowed });
    expect(answer.findings).toEqual([expect.stringContaining('policy does not allow')]);
    expect(fixture.requests).toEqual([]);
  });

  it.each([
    ['a note', { notes: 'eph-images' }],
    ['a comment', {}],
  ])('pass over what is refused where %s names it, and say so', async (_, image) => {
    const fixture = new Fixture();
    const stated = 'ghcr.io/other/secret';
    fixture.refused.add(stated);
    fixture.notes.set('eph-images', `eph-image: ${stated}:1`);
    const text = `/deploy --image=${stated}:1`;
    const command = { id: '1', text, author: 'alice', mayWrite: true, at: '', commit: firstCommit };
    const resolve = () => fixture.resolve({ ...image, ...tag(`t-${short}`) }, 'notes' in image ? {} : { command });
    const because = `${stated}:1 cannot be used: ${stated} is not shown`;
    expect(await resolve()).toMatchObject({ state: 'missing', findings: [because, expect.stringContaining('no tag t-')] });
    const reference = fixture.publish(`t-${short}`);
    fixture.wait(minute);
    expect(await resolve()).toMatchObject({ state: 'found', image: { reference }, findings: [because] });
  });

  it('are all excluded by a fixed tag, which is the same for every commit', async () => {
    const fixture = new Fixture();
    const published = fixture.publish('v2');
    fixture.notes.set('eph-images', `eph-image: ${repository}:other`);
    const image = await fixture.find({ fixed: 'v2', notes: 'eph-images' });
    expect(image).toMatchObject({ reference: published, tag: 'v2', commit: null });
    const again = await fixture.find({ fixed: 'v2', notes: 'eph-images' }, { commit: secondCommit, running: [image] });
    expect(again).toEqual(image);
    expect(fixture.requests).toHaveLength(1);
  });

  it('are not looked for anew because a file says otherwise what to do without a fixed tag', async () => {
    const fixture = new Fixture();
    fixture.publish('v2');
    const image = await fixture.find({ fixed: 'v2' });
    const others = { name: 'another', isOnly: false, whenMissing: 'wait', followsTag: false } as const;
    expect(await fixture.find({ fixed: 'v2', ...others }, { running: [image] })).toEqual(image);
    expect((await fixture.find({ fixed: 'v2', platform: 'linux/amd64' }, { running: [image] })).request).not.toBe(image.request);
  });

  it('try the next one where an image that somebody named is not there, and say what each found', async () => {
    const fixture = new Fixture();
    fixture.notes.set('eph-images', `eph-image: ${repository}:gone`);
    const answer = await fixture.resolve({ notes: 'eph-images', ...tag(`t-${short}`), ...pattern('pr-*') });
    expect(answer).toMatchObject({
      state: 'missing',
      findings: [/gone/, /t-1111111/, /./].map((one) => expect.stringMatching(one)),
    });
  });
});

describe('a scan', () => {
  it('takes the newest image by its creation, not by its tag', async () => {
    const fixture = new Fixture();
    fixture.publish('pr-7-b', {}, new Date(begin - 2 * minute));
    const newest = fixture.publish('pr-7-a', {}, new Date(begin - minute));
    fixture.publish('pr-8-a', {}, new Date(begin));
    expect((await fixture.find(pattern('pr-7-*'))).reference).toBe(newest);
  });

  it('passes over what was built before the commit', async () => {
    const fixture = new Fixture();
    fixture.publish('pr-7-a', {}, new Date(begin - 60 * minute));
    expect(await fixture.resolve(pattern('pr-7-*'))).toMatchObject({
      state: 'missing',
      findings: [`${repository}:pr-7-a is older than the commit`],
    });
  });

  it('passes over what is no image, and says so', async () => {
    const fixture = new Fixture();
    const right = fixture.publish('pr-7-b', {}, new Date(begin - 2 * minute));
    fixture.publish('pr-7-chart');
    fixture.publish('pr-7-cache');
    fixture.refused.add('pr-7-chart').add('pr-7-cache');
    const found = await fixture.resolve(pattern('pr-7-*'));
    expect(found).toMatchObject({ state: 'found', image: { reference: right } });
    expect(found.findings).toEqual([`pr-7-chart, and 1 more cannot be used: ${repository} is not shown`]);
    expect(await fixture.resolve(pattern('pr-7-c*'))).toMatchObject({ state: 'missing', findings: found.findings });
  });

  it('knows nothing where a tag is not answered', async () => {
    const fixture = new Fixture();
    fixture.publish('pr-7-a');
    await fixture.resolve(pattern('pr-7-*'));
    fixture.publish('pr-7-b');
    fixture.wait(minute);
    await fixture.resolve(pattern('pr-8-*'));
    fixture.failure = new EphError('registry.unreachable', 'no answer');
    expect(await fixture.resolve(pattern('pr-7-*'))).toMatchObject({ fault: { code: 'registry.unreachable' } });
  });

  it('counts only tags that name the commit where more than 100 match', async () => {
    const fixture = new Fixture();
    for (let index = 0; index < 101; index += 1) fixture.publish(`pr-${index}`);
    const [narrow, right] = [await fixture.resolve(pattern('pr-*')), fixture.publish(`pr-${short}`)];
    expect(narrow.findings).toEqual([expect.stringContaining('a tag_pattern that matches at most 100 is needed')]);
    expect(fixture.requests.map(({ asks }) => asks)).toEqual(['tags']);
    fixture.wait(minute);
    expect((await fixture.find(pattern('pr-*'))).reference).toBe(right);
  });
});

describe('what nobody can find', () => {
  const image = { ...tag(`t-${short}`), fallbackTag: 'latest', whenMissing: 'use-fallback' } as const;

  it('is waited for, with the time at which that ends', async () => {
    const fixture = new Fixture();
    expect(await fixture.resolve(tag(`t-${short}`))).toMatchObject({
      state: 'missing',
      fault: {
        code: 'artifact.missing',
        message: `web waits for image api for commit ${short}: there is no tag t-${short} in ${repository}`,
      },
      until: new Date(begin + 30 * minute).toISOString(),
      lookAgain: { at: begin + 30_000, repositories: [repository] },
    });
  });

  it('is given up after a while, looked for all the same, and used when it comes', async () => {
    const fixture = new Fixture();
    fixture.wait(30 * minute);
    expect(await fixture.resolve(tag(`t-${short}`))).toMatchObject({
      state: 'missing',
      fault: { code: 'artifact.not_found', disposition: 'wait', message: expect.stringContaining('after 30m') },
      lookAgain: { at: fixture.now + 30_000, repositories: [repository] },
    });
    const late = fixture.publish(`t-${short}`);
    fixture.wait(minute);
    expect((await fixture.find(tag(`t-${short}`))).reference).toBe(late);
  });

  it('is never given up where the file says wait', async () => {
    const fixture = new Fixture();
    fixture.wait(30 * 24 * 60 * minute);
    const answer = await fixture.resolve({ ...tag(`t-${short}`), whenMissing: 'wait' });
    expect(answer).toMatchObject({ state: 'missing', fault: { code: 'artifact.missing' } });
    expect(answer).not.toHaveProperty('until');
  });

  it('is replaced by the fall-back after a while, until it is there', async () => {
    const fixture = new Fixture();
    const latest = fixture.publish('latest');
    expect(await fixture.resolve(image)).toMatchObject({
      state: 'missing',
      fault: { message: expect.stringContaining('then latest is used until it is there') },
      until: new Date(begin + 10 * minute).toISOString(),
    });
    fixture.wait(10 * minute);
    const fallback = await fixture.find(image);
    expect(fallback).toMatchObject({ reference: latest, tag: 'latest', fallback: true });
    fixture.wait(60 * minute);
    expect(await fixture.find(image, { running: [fallback] })).toEqual(fallback);
    const right = fixture.publish(`t-${short}`);
    fixture.wait(minute);
    expect(await fixture.find(image, { running: [fallback] })).toMatchObject({ reference: right, tag: `t-${short}` });
  });

  it('is replaced by a fall-back that limits of the right one do not concern, but the platform does', async () => {
    const fixture = new Fixture();
    const old = fixture.publish('latest', {}, new Date(0));
    fixture.wait(10 * minute);
    const limits = { maxAgeSeconds: 86_400, requiredLabels: { 'eph.io/commit': firstCommit } };
    expect(await fixture.find({ ...image, ...limits })).toMatchObject({ reference: old, fallback: true });
    const other = await fixture.resolve({ ...image, ...limits, platform: 'linux/arm64' });
    expect(other).toMatchObject({ state: 'missing' });
    expect(other.findings.at(-1)).toContain('has no image for linux/arm64');
  });

  it('is not replaced by a fall-back where the tag is fixed', async () => {
    const fixture = new Fixture();
    fixture.publish('latest');
    fixture.wait(10 * minute);
    expect(await fixture.resolve({ ...image, fixed: 'v1' })).toMatchObject({ state: 'missing' });
  });

  it('leaves a running fall-back as it is after a restart, also while the registry is away', async () => {
    const fixture = new Fixture();
    fixture.publish('latest');
    fixture.wait(10 * minute);
    const fallback = await fixture.find(image);
    const times = () => Promise.resolve({ requestedAt: begin, committedAt: begin, seenAt: fixture.now });
    fixture.wait(minute);
    expect(await fixture.find(image, { running: [fallback], times })).toEqual(fallback);
    fixture.failure = new EphError('registry.unreachable', 'no answer');
    fixture.wait(minute);
    expect(await fixture.find(image, { running: [fallback], times })).toEqual(fallback);
  });

  it('is a failure after a while where the fall-back is missing, too', async () => {
    const fixture = new Fixture();
    fixture.wait(30 * minute);
    const answer = await fixture.resolve(image);
    expect(answer).toMatchObject({ state: 'missing', fault: { code: 'artifact.not_found' } });
    expect(answer.findings.at(-1)).toContain('latest');
  });

  it.each([
    ['a request of long ago', begin - 24 * 60 * minute],
    ['a request from the future', begin + 24 * 60 * minute],
  ])('is waited for from when the commit was first seen after %s', async (_, requestedAt) => {
    const fixture = new Fixture();
    const times = () => Promise.resolve({ requestedAt, committedAt: requestedAt, seenAt: begin });
    expect(await fixture.resolve(tag(`t-${short}`), { times })).toMatchObject({
      until: new Date(begin + 30 * minute).toISOString(),
    });
  });
});

describe('a tag that moves', () => {
  it('changes nothing that runs, unless the file follows it', async () => {
    const fixture = new Fixture();
    fixture.publish('v1');
    const stays = await fixture.find({ fixed: 'v1' });
    const follows = await fixture.find({ fixed: 'v1', followsTag: true });
    const moved = fixture.publish('v1', { moved: 'yes' });
    fixture.wait(minute);
    expect(await fixture.find({ fixed: 'v1' }, { running: [stays] })).toEqual(stays);
    expect(await fixture.resolve({ fixed: 'v1', followsTag: true }, { running: [follows] })).toMatchObject({
      image: { reference: moved },
      lookAgain: { at: fixture.now + 30_000, repositories: [repository] },
    });
  });

  it('and is deleted takes nothing away', async () => {
    const fixture = new Fixture();
    fixture.publish('v1');
    const image = { fixed: 'v1', followsTag: true } as const;
    const running = [await fixture.find(image)];
    fixture.registry.delete(repository, 'v1');
    fixture.wait(minute);
    expect(await fixture.find(image, { running })).toEqual(running[0]);
  });
});

describe('requests', () => {
  it('ask for a tag once for all, and again only after a while', async () => {
    const fixture = new Fixture();
    const all = () => Promise.all(Array.from({ length: 50 }, () => fixture.resolve(tag(`t-${short}`))));
    await all();
    fixture.wait(29_999);
    await all();
    expect(fixture.requests).toHaveLength(1);
    fixture.wait(1);
    await all();
    expect(fixture.requests).toHaveLength(2);
  });

  it('list the tags of a repository together for many patterns', async () => {
    const fixture = new Fixture();
    fixture.publish('other');
    const all = (from: number) =>
      Promise.all(Array.from({ length: 50 }, (_, index) => fixture.resolve(pattern(`pr-${from + index}-*`))));
    const countDuring = async (act: () => Promise<unknown>): Promise<number> => {
      const before = fixture.requests.length;
      await act();
      return fixture.requests.length - before;
    };
    expect(await countDuring(() => all(0))).toBeLessThanOrEqual(2);
    expect(await countDuring(() => all(0))).toBe(0);
    expect(await countDuring(() => all(50))).toBeLessThanOrEqual(2);
    fixture.wait(minute);
    expect(await countDuring(() => Promise.all([all(0), all(50)]))).toBeLessThanOrEqual(2);
  });

  it.each(['registry.unreachable', 'registry.refused'] as const)(
    'that fail with %s are shared, too, and repeated after a while or a push',
    async (code) => {
      const fixture = new Fixture();
      fixture.failure = new EphError(code, 'no answer');
      const all = (image: Partial<WantedImage>) => Promise.all(Array.from({ length: 50 }, () => fixture.resolve(image)));
      for (const image of [tag(`t-${short}`), pattern('pr-*')]) {
        fixture.requests.length = 0;
        await all(image);
        fixture.wait(29_999);
        expect(await all(image)).toContainEqual(expect.objectContaining({ state: 'unknown' }));
        expect(fixture.requests).toHaveLength(1);
        fixture.wait(1);
        await all(image);
        expect(fixture.requests).toHaveLength(2);
        fixture.resolver.forget(repository);
        await all(image);
        expect(fixture.requests).toHaveLength(3);
      }
    },
  );

  it('are made again at once when a registry says that something was pushed', async () => {
    const fixture = new Fixture();
    await fixture.resolve(tag(`t-${short}`));
    const published = fixture.publish(`t-${short}`);
    fixture.resolver.forget('registry.example/acme/web');
    expect(await fixture.resolve(tag(`t-${short}`))).toMatchObject({ state: 'missing' });
    fixture.resolver.forget(repository);
    expect((await fixture.find(tag(`t-${short}`))).reference).toBe(published);
  });

  it('that are refused are repeated after a longer while', async () => {
    const fixture = new Fixture();
    fixture.failure = new EphError('registry.refused', 'not allowed');
    expect(await fixture.resolve(tag(`t-${short}`))).toMatchObject({
      state: 'unknown',
      fault: { code: 'registry.refused', message: 'image api of web: not allowed', disposition: 'stall' },
      lookAgain: { at: begin + 300_000, repositories: [repository] },
    });
  });

  it('are not awaited by a caller that gives up, and go on for the others', async () => {
    const fixture = new Fixture();
    const reference = fixture.publish(`t-${short}`);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    fixture.answered = answered;
    const caller = new AbortController();
    const request: ImageRequest = createImageRequest(tag(`t-${short}`));
    const first = fixture.resolver.resolve(request, caller.signal);
    const second = fixture.find(tag(`t-${short}`));
    caller.abort(new EphError('plan.superseded', 'a newer commit'));
    await expect(first).rejects.toMatchObject({ code: 'plan.superseded' });
    answer();
    expect(await second).toMatchObject({ reference });
    expect(fixture.requests).toHaveLength(1);
  });
});

it('nothing in the file that says how an image is found is said', async () => {
  const fixture = new Fixture();
  expect(await fixture.resolve({}, { commit: commitSha('3'.repeat(40)) })).toMatchObject({
    fault: { message: expect.stringContaining('nothing in eph.yaml says how it is found') },
  });
});
