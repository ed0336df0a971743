import { describe, expect, it, onTestFinished } from 'vitest';
import { createExchange } from './exchange.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';

const { signal } = new AbortController();

const start = async () => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const exchange = createExchange(createTestGate(new ManualClock()));
  const fetch = (address: string, init: RequestInit = {}) => exchange(new Request(address, init), signal);
  return { forge, fetch, address: `${forge.url}/pulls` };
};

describe('a request with a validator', () => {
  it('gets the answer of the forge, also without a body', async () => {
    const { forge, fetch, address } = await start();
    forge.script = ({ headers }) => ({ status: headers['if-none-match'] === '"1"' ? 304 : 200, body: 'x' });
    expect((await fetch(address, { headers: { 'if-none-match': '"1"' } })).status).toBe(304);
    expect((await fetch(address)).status).toBe(200);
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
    expect((await fetch(address)).body).toBe('fine');
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
    expect(JSON.parse(answer.body)).toEqual(['POST', 'text', 'token t']);
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

it('gives up on an answer that takes too long, and says who is silent', { timeout: 60_000 }, async () => {
  await using forge = await ScriptedForge.start();
  forge.script = () => ({ fault: 'hang' });
  const exchange = createExchange(createTestGate(new ManualClock()));
  await expect(exchange(new Request(forge.url), signal)).rejects.toMatchObject({
    code: 'forge.unreachable',
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer within 30 s\.$/),
  });
  forge.script = () => ({ body: 'fine' });
  expect(await exchange(new Request(forge.url), signal)).toMatchObject({ status: 200 });
});
