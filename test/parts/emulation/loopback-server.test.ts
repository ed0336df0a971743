import { describe, expect, it } from 'vitest';
import { type Failure, type FailureSubject, Failures } from './failures.ts';
import { failing, LoopbackServer } from './loopback-server.ts';

const body = Buffer.from(JSON.stringify([{ id: 1 }, { id: 2 }]));
const headers = { 'content-type': 'application/json' };
const serving = (failure: Failure | undefined): Promise<LoopbackServer> =>
  LoopbackServer.start(() => Promise.resolve(failing({ status: 200, headers, body }, failure)));

describe('injected failures of an answer', () => {
  it('reset the connection before or during the body', async () => {
    for (const failure of [{ kind: 'reset' }, { kind: 'truncated', ending: 'broken' }] as const) {
      await using server = await serving(failure);
      const reading = fetch(server.url).then((response) => response.text());
      await expect(reading, failure.kind).rejects.toThrow(/fetch failed|terminated|aborted/u);
    }
  });

  it('truncate the body with a clean end, which only the JSON parser notices', async () => {
    await using server = await serving({ kind: 'truncated', ending: 'clean' });
    const response = await fetch(server.url);
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow(SyntaxError);
  });

  it('return the error page of a load balancer', async () => {
    await using server = await serving({ kind: 'status', status: 502 });
    const response = await fetch(server.url);
    expect([response.status, response.headers.get('content-type')]).toEqual([502, 'text/html; charset=utf-8']);
  });

  it('never answer', async () => {
    await using server = await serving({ kind: 'no-answer' });
    await expect(fetch(server.url, { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/u);
  });

  it('delay the complete answer', async () => {
    await using server = await serving({ kind: 'slow', delayMs: 20 });
    expect(await (await fetch(server.url)).json()).toEqual([{ id: 1 }, { id: 2 }]);
  });
});

const request = (operation: string): FailureSubject => ({ method: 'GET', path: '/x?page=2', operation });

describe('injected failures', () => {
  it('affect one operation a given number of times', () => {
    const failures = new Failures(1);
    failures.add({ failure: { kind: 'status', status: 502 }, match: { operation: 'GET /a' }, times: 2 });
    expect(['GET /b', 'GET /a', 'GET /a', 'GET /a'].map((name) => failures.pick(request(name))?.failure.kind)).toEqual([
      undefined,
      'status',
      'status',
      undefined,
    ]);
  });

  it('affect one page of a list until they are removed', () => {
    const failures = new Failures(1);
    const takeBack = failures.add({ failure: { kind: 'reset' }, match: { path: /page=2/u } });
    expect(failures.pick(request('GET /a'))?.failure.kind).toBe('reset');
    takeBack();
    expect(failures.pick(request('GET /a'))).toBeUndefined();
  });

  it('are determined by the seed and occur at about the given rate', () => {
    const storm = (seed: number): readonly (string | undefined)[] => {
      const failures = new Failures(seed);
      failures.add({ failure: { kind: 'reset' }, probability: 0.1 });
      failures.add({ failure: { kind: 'empty-page' }, probability: 0.05 });
      return Array.from({ length: 4000 }, () => failures.pick(request('GET /a'))?.failure.kind);
    };
    expect(storm(7)).toEqual(storm(7));
    expect(storm(7)).not.toEqual(storm(8));
    const share = (kind: string): number => storm(7).filter((picked) => picked === kind).length / 4000;
    expect(share('reset')).toBeCloseTo(0.1, 1);
    expect(share('empty-page')).toBeCloseTo(0.05, 1);
  });
});
