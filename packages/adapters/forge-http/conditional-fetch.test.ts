import { describe, expect, it, onTestFinished } from 'vitest';
import { type ConditionalFetchOptions, createConditionalFetch } from './conditional-fetch.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';

const start = async (options: Partial<ConditionalFetchOptions> = {}) => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const fetch = createConditionalFetch({ gate: createTestGate(new ManualClock()), ...options });
  return { forge, fetch, address: `${forge.url}/pulls` };
};

/** Says 304 to whoever knows the tag. */
const tagged =
  (tag: string, body: unknown) =>
  ({ headers }: { readonly headers: Readonly<Record<string, string>> }) =>
    headers['if-none-match'] === tag
      ? { status: 304, headers: { etag: tag, 'x-ratelimit-remaining': '59' } }
      : { headers: { etag: tag, 'x-page': 'first' }, body };

describe('an answer with an entity tag', () => {
  it('is revalidated by its tag, and is equal when nothing changed', async () => {
    const { forge, fetch, address } = await start();
    forge.script = tagged('"1"', [1, 2]);
    await fetch(address);
    const again = await fetch(address);
    expect(forge.requests[1]?.headers['if-none-match']).toBe('"1"');
    expect({ status: again.status, url: again.url, body: await again.json() }).toEqual({
      status: 200,
      url: address,
      body: [1, 2],
    });
    expect(again.headers.get('x-page')).toBe('first');
    expect(again.headers.get('x-ratelimit-remaining')).toBe('59');
  });

  it('is replaced when it changed', async () => {
    const { forge, fetch, address } = await start();
    forge.script = tagged('"1"', 'old');
    await fetch(address);
    forge.script = tagged('"2"', 'new');
    expect(await (await fetch(address)).text()).toBe('new');
    await fetch(address);
    expect(forge.requests[2]?.headers['if-none-match']).toBe('"2"');
  });

  it('is cached by URL and accepted type', async () => {
    const { forge, fetch, address } = await start();
    forge.script = tagged('"1"', 'x');
    await fetch(address);
    await fetch(`${address}?page=2`);
    await fetch(address, { headers: { accept: 'text/plain' } });
    expect(forge.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined, undefined]);
  });

  it('is forgotten when others need the room', async () => {
    const { forge, fetch, address } = await start({ cacheLimitBytes: 6_000 });
    forge.script = ({ target }) => ({ headers: { etag: target }, body: 'x'.repeat(1_500) });
    for (const page of [1, 2, 1, 3, 1, 2]) await fetch(`${address}?page=${page}`);
    expect(forge.requests.map(({ headers }) => headers['if-none-match'] !== undefined)).toEqual([
      false,
      false,
      true,
      false,
      true,
      false,
    ]);
  });

  it('is not kept when its sender forbids it', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ headers: { etag: '"1"', 'cache-control': 'private, no-store' }, body: 'x' });
    await fetch(address);
    await fetch(address);
    expect(forge.requests[1]?.headers['if-none-match']).toBeUndefined();
  });

  it('is left alone when the caller brings a tag', async () => {
    const { forge, fetch, address } = await start();
    forge.script = tagged('"1"', 'x');
    await fetch(address);
    expect((await fetch(address, { headers: { 'if-none-match': '"1"' } })).status).toBe(304);
  });
});

describe('an answer with a date', () => {
  it.each([
    ['long past', 'Mon, 05 Jan 2026 09:00:00 GMT', 'Mon, 05 Jan 2026 08:00:00 GMT'],
    ['just past: it may change once more in the same second', 'Mon, 05 Jan 2026 09:00:00 GMT', undefined],
  ])('is asked for with it if the date is %s', async (_, date, sent) => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ headers: { date, 'last-modified': sent ?? date }, body: 'x' });
    await fetch(address);
    await fetch(address);
    expect(forge.requests[1]?.headers['if-modified-since']).toBe(sent);
  });
});

describe('equal questions at the same time', () => {
  it('become one request', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ body: [1] });
    const answers = await Promise.all([fetch(address), fetch(address), fetch(address)]);
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([[1], [1], [1]]);
    expect(forge.requests).toHaveLength(1);
  });

  it('stay apart when the answer must not be older than the question, and when they change something', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ body: [1] });
    await Promise.all([fetch(address), fetch(address, { cache: 'no-cache' }), fetch(address, { cache: 'no-cache' })]);
    await Promise.all([fetch(address, { method: 'POST', body: '1' }), fetch(address, { method: 'POST', body: '1' })]);
    expect(forge.requests).toHaveLength(5);
  });

  it('do not lose their answer when one of those who asked goes away', async () => {
    const { forge, fetch, address } = await start();
    const released = Promise.withResolvers<void>();
    forge.script = () => released.promise.then(() => ({ body: [1] }));
    const leaving = new AbortController();
    const [left, stayed] = [fetch(address, { signal: leaving.signal }), fetch(address)];
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    released.resolve();
    expect(await (await stayed).json()).toEqual([1]);
    expect(forge.requests).toHaveLength(1);
  });

  it('are aborted when no caller waits, and then sent again', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ fault: 'hang' });
    const leaving = new AbortController();
    const left = fetch(address, { signal: leaving.signal });
    await expect.poll(() => forge.requests.length).toBe(1);
    leaving.abort(new Error('went away'));
    await expect(left).rejects.toThrow('went away');
    forge.script = () => ({ body: [1] });
    expect(await (await fetch(address)).json()).toEqual([1]);
  });
});

describe('no whole answer', () => {
  it.each([
    ['the connection breaks before it', 'reset'],
    ['the connection breaks within it', 'truncated'],
    ['it takes too long', 'hang'],
  ] as const)('is an error that says who is silent: %s', async (_, fault) => {
    const { forge, fetch, address } = await start({ timeoutMs: 300 });
    forge.script = () => ({ headers: { etag: '"1"' }, body: { long: 'x'.repeat(10_000) }, fault });
    const asking = fetch(address);
    await expect(asking).rejects.toMatchObject({ code: 'forge.unreachable', message: expect.stringContaining('127.0.0.1:') });
    forge.script = () => ({ body: 'fine' });
    expect(await (await fetch(address)).text()).toBe('fine');
    expect(forge.requests.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  it('is an error when nobody listens', async () => {
    const { forge, fetch, address } = await start();
    await forge[Symbol.asyncDispose]();
    await expect(fetch(address)).rejects.toMatchObject({
      message: expect.stringMatching(/could not be reached \(ECONNREFUSED\)\.$/),
    });
  });

  it('is an error when it is larger than anybody should read', async () => {
    const { forge, fetch, address } = await start({ bodyLimitBytes: 1_000 });
    forge.script = () => ({ body: 'x'.repeat(1_001) });
    await expect(fetch(address)).rejects.toMatchObject({
      code: 'forge.incomplete',
      message: expect.stringContaining('1000 bytes'),
    });
  });
});

describe('a redirect', () => {
  it.each([301, 307, 308])('of status %i is followed to where a renamed repository is, with what was sent', async (status) => {
    const { forge, fetch, address } = await start();
    forge.script = ({ target, method, body, headers }) =>
      target === '/pulls'
        ? { status, headers: { location: '/renamed' } }
        : { body: [method, body.toString(), headers['authorization']] };
    const answer = await fetch(address, { method: 'POST', body: 'text', headers: { authorization: 'token t' } });
    expect(await answer.json()).toEqual(['POST', 'text', 'token t']);
    expect(answer.url).toBe(`${forge.url}/renamed`);
  });

  it('is not followed to another server, nor from a write to a read', async () => {
    const [{ forge, fetch, address }, other] = [await start(), await start()];
    forge.script = () => ({ status: 302, headers: { location: other.address } });
    expect((await fetch(address, { headers: { 'private-token': 'secret' } })).status).toBe(302);
    forge.script = () => ({ status: 302, headers: { location: '/elsewhere' } });
    expect((await fetch(address, { method: 'DELETE' })).status).toBe(302);
    expect(other.forge.requests).toEqual([]);
  });

  it('that leads in a circle comes to an end', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ status: 301, headers: { location: '/pulls' } });
    expect((await fetch(address)).status).toBe(301);
  });
});
