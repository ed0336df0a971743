import { silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AnswerTable, unwrap } from './answer.ts';
import { createExchange } from './exchange.ts';
import { createAnswerCache, createForgeHttp } from './forge-http.ts';
import { createTestGate, ManualClock, ScriptedForge } from './scripted-forge.fake.ts';

const { signal } = new AbortController();

const table: AnswerTable = [
  { status: 404, meaning: 'gone', code: 'forge.unreachable', message: (shown) => `${shown} has no such thing.` },
  {
    status: 403,
    when: ({ headers }) => headers.has('retry-after'),
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown} wants a pause.`,
  },
  { status: [401, 403], meaning: 'refused', code: 'forge.refused', message: (shown) => `${shown} refuses access.` },
  { status: 429, meaning: 'retry', code: 'forge.unreachable', message: (shown) => `${shown} wants a pause.` },
  { status: [500, 599], meaning: 'retry', code: 'forge.unreachable', message: (shown) => `${shown} is in trouble.` },
];

const start = async () => {
  const forge = await ScriptedForge.start();
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const clock = new ManualClock();
  const http = createForgeHttp({
    exchange: createExchange(createTestGate(clock)),
    baseUrl: `${forge.url}/api/v1`,
    headers: { authorization: 'token secret' },
    table,
    shown: 'acme/shop',
    now: clock.now,
    log: silentLog,
    parsePosition: (headers) => ({ total: headers.get('x-total') }),
    cache: createAnswerCache(1_000_000),
    countHeaders: ['x-total'],
  });
  return { forge, http };
};

const numbers = (body: unknown): readonly number[] => {
  if (!Array.isArray(body)) throw new Error('not a list');
  return body.map(Number);
};

describe('reading', () => {
  it('asks as who it is and hands over what was made of the answer', async () => {
    const { forge, http } = await start();
    forge.script = () => ({ body: ['1', '2'] });
    expect(await http.read('/pulls?page=1', numbers, signal)).toEqual({ ok: true, value: [1, 2] });
    expect(forge.requests).toMatchObject([{ target: '/api/v1/pulls?page=1', headers: { authorization: 'token secret' } }]);
  });

  it('hands over the same value for as long as nothing changed', async () => {
    const { forge, http } = await start();
    forge.script = ({ headers }) =>
      headers['if-none-match'] === '"1"' ? { status: 304 } : { headers: { etag: '"1"' }, body: [1] };
    const first = unwrap(await http.read('/pulls', numbers, signal));
    expect(unwrap(await http.read('/pulls', numbers, signal))).toBe(first);
    expect(unwrap(await http.read('/pulls', (body) => body, signal))).toEqual([1]);
    forge.script = () => ({ body: [2] });
    expect(unwrap(await http.read('/pulls', numbers, signal))).toEqual([2]);
  });

  it('of a page hands over another one when only the number of items changed', async () => {
    const { forge, http } = await start();
    let total = '3';
    forge.script = ({ headers }) => ({
      ...(headers['if-none-match'] === '"1"' ? { status: 304 } : { body: [1] }),
      headers: { etag: '"1"', 'x-total': total },
    });
    const listed = { what: 'pulls', parse: numbers, keyOf: (item: number) => item };
    const read = async () => unwrap(await http.readPage('/pulls', listed, signal));
    const first = await read();
    expect(first).toEqual({ items: [1], total: '3' });
    expect(await read()).toBe(first);
    total = '2';
    expect(await read()).toEqual({ items: [1], total: '2' });
    expect(forge.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"', '"1"', undefined]);
  });

  it.each([
    ['a list that is none', { body: { message: 'hello' } }],
    ['half a list', { body: '[{"id": 1}, {"i' }],
    ['a page of a proxy', { body: '<html></html>', headers: { 'content-type': 'text/html' } }],
    ['nothing', { body: '' }],
    ['a status nobody knows', { status: 418 }],
    ['an unasked 304', { status: 304 }],
    ['a way elsewhere', { status: 302, headers: { location: 'https://login.example.com/' } }],
  ])('concludes nothing from %s', async (_, answer) => {
    const { forge, http } = await start();
    forge.script = () => answer;
    expect(await http.read('/pulls', numbers, signal)).toMatchObject({
      ok: false,
      meaning: 'incomplete',
      fault: {
        code: 'forge.incomplete',
        message: expect.stringMatching(/^acme\/shop: the forge (?:answered|sent an invalid answer)/),
      },
    });
  });

  it.each([
    [404, {}, 'gone', 'forge.unreachable', 'acme/shop has no such thing.'],
    [401, {}, 'refused', 'forge.refused', 'acme/shop refuses access.'],
    [403, {}, 'refused', 'forge.refused', 'acme/shop refuses access.'],
    [403, { 'retry-after': '7' }, 'retry', 'forge.unreachable', 'acme/shop wants a pause.'],
    [502, {}, 'retry', 'forge.unreachable', 'acme/shop is in trouble.'],
  ])('takes %i with %o for what the table says', async (status, headers, meaning, code, message) => {
    const { forge, http } = await start();
    forge.script = () => ({ status, headers, body: { message: 'request id C0FFEE' } });
    const answer = await http.read('/pulls', numbers, signal);
    expect(answer).toMatchObject({ ok: false, meaning, fault: { code, message } });
    expect(() => unwrap(answer)).toThrow(message);
  });

  it('retries without an answer and while the gate is closed', async () => {
    const { forge, http } = await start();
    forge.script = () => ({ fault: 'reset' });
    expect(await http.read('/pulls', numbers, signal)).toMatchObject({
      ok: false,
      meaning: 'retry',
      fault: { code: 'forge.unreachable' },
    });
    forge.script = () => ({ status: 429, headers: { 'retry-after': '60' } });
    expect(await http.read('/pulls', numbers, signal)).toMatchObject({ fault: { retryAfterMs: 60_000 } });
    const asked = forge.requests.length;
    expect(await http.read('/pulls', numbers, signal)).toMatchObject({
      ok: false,
      meaning: 'retry',
      fault: { retryAfterMs: 60_000 },
    });
    expect(forge.requests).toHaveLength(asked);
  });

  it('that is stopped concludes nothing', async () => {
    const { forge, http } = await start();
    forge.script = () => ({ fault: 'hang' });
    const stop = new AbortController();
    const reading = http.read('/pulls', numbers, stop.signal);
    stop.abort();
    expect(await reading).toMatchObject({
      ok: false,
      meaning: 'incomplete',
      fault: { message: expect.stringContaining('aborted') },
    });
  });
});

describe('changing', () => {
  it('concludes nothing from an answer that makes no sense', async () => {
    const { forge, http } = await start();
    forge.script = () => ({ status: 201, body: {} });
    expect(await http.send('POST', '/labels', {}, numbers, signal)).toMatchObject({ ok: false, meaning: 'incomplete' });
  });

  it('sends what is to be, and never twice for one', async () => {
    const { forge, http } = await start();
    forge.script = ({ method }) => (method === 'DELETE' ? { status: 204 } : { status: 201, body: { id: 7 } });
    expect(await http.send('POST', '/labels', { name: 'x' }, (body) => body, signal)).toEqual({ ok: true, value: { id: 7 } });
    expect(await http.send('DELETE', '/labels/7', undefined, (body) => body, signal)).toEqual({ ok: true, value: undefined });
    expect(forge.requests.map(({ method, body }) => [method, body.toString()])).toEqual([
      ['POST', '{"name":"x"}'],
      ['DELETE', ''],
    ]);
  });
});
