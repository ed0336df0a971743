import { describe, expect, it, onTestFinished } from 'vitest';
import { createConditionalFetch } from './conditional-fetch.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';

const start = async () => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const fetch = createConditionalFetch(createTestGate(new ManualClock()));
  return { forge, fetch, address: `${forge.url}/pulls` };
};

describe('a request with a validator', () => {
  it('gets the answer of the forge, also without a body', async () => {
    const { forge, fetch, address } = await start();
    forge.script = ({ headers }) => ({ status: headers['if-none-match'] === '"1"' ? 304 : 200, body: 'x' });
    expect((await fetch(address, { headers: { 'if-none-match': '"1"' } })).status).toBe(304);
    expect((await fetch(address)).status).toBe(200);
  });

  it('is not shared with one that has none', async () => {
    const { forge, fetch, address } = await start();
    forge.script = ({ headers }) => ({ status: headers['if-none-match'] === '"1"' ? 304 : 200, body: 'x' });
    const answers = await Promise.all([fetch(address), fetch(address, { headers: { 'if-none-match': '"1"' } })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 304]);
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

  it('are given up when all have gone away, and asked anew', async () => {
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
  ] as const)('is an error that says who is silent: %s', async (_, fault) => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ body: { long: 'x'.repeat(10_000) }, fault });
    const asking = fetch(address);
    await expect(asking).rejects.toMatchObject({ code: 'forge.unreachable', message: expect.stringContaining('127.0.0.1:') });
    forge.script = () => ({ body: 'fine' });
    expect(await (await fetch(address)).text()).toBe('fine');
  });

  it('is an error when nobody listens', async () => {
    const { forge, fetch, address } = await start();
    await forge[Symbol.asyncDispose]();
    await expect(fetch(address)).rejects.toMatchObject({
      message: expect.stringMatching(/could not be reached \(ECONNREFUSED\)\.$/),
    });
  });

  it('is an error when it is larger than anybody should read', async () => {
    const { forge, fetch, address } = await start();
    forge.script = () => ({ body: 'x'.repeat(32 * 1024 * 1024 + 1) });
    await expect(fetch(address)).rejects.toMatchObject({
      code: 'forge.incomplete',
      message: expect.stringContaining('33554432 bytes'),
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

  it('is not followed to another server, nor from a change to a look', async () => {
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
