import { type Dispatcher, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { startUpstream } from './upstream.fake.ts';
import { type PoolLimits, UpstreamPools } from './upstream-pools.ts';
import { expectSoon } from './visitor.fake.ts';

const limits: PoolLimits = {
  connectTimeoutMs: 5_000,
  answerTimeoutMs: 5_000,
  maxHeaderBytes: 16_384,
  idleMs: 3_600_000,
  maxPools: 1_000,
};

let pools: UpstreamPools;
afterEach(() => pools.destroy());

const ask = (port: number): Promise<Dispatcher.ResponseData> =>
  request(`http://127.0.0.1:${port}/`, { dispatcher: pools.get({ host: '127.0.0.1', port }) });

describe('pools of connections', () => {
  it('keep one pool for each upstream', () => {
    pools = new UpstreamPools(limits);
    const first = pools.get({ host: '127.0.0.1', port: 4001 });
    expect(pools.get({ host: '127.0.0.1', port: 4001 })).toBe(first);
    expect(pools.get({ host: '::1', port: 4001 })).not.toBe(first);
    expect(pools.size).toBe(2);
  });

  it('close a pool that is out of use and open a new one when it is wanted again', async () => {
    pools = new UpstreamPools({ ...limits, idleMs: 20 });
    const upstream = { host: '127.0.0.1', port: 4001 };
    const first = pools.get(upstream);
    await expectSoon(() => pools.size).toBe(0);
    expect(first.closed).toBe(true);
    expect(pools.get(upstream)).not.toBe(first);
  });

  it('let an answer under way finish when its pool is closed', async () => {
    pools = new UpstreamPools({ ...limits, idleMs: 20 });
    let finish: (() => void) | undefined;
    await using upstream = await startUpstream((_, response) => {
      response.write('first ');
      finish = () => response.end('last');
    });
    const pool = pools.get({ host: '127.0.0.1', port: upstream.port });
    const answer = await ask(upstream.port);
    await expectSoon(() => pool.closed).toBe(true);
    finish?.();
    expect(await answer.body.text()).toBe('first last');
    await expectSoon(() => pools.size).toBe(0);
  });

  it('never grow past their number, and keep those in use', async () => {
    pools = new UpstreamPools({ ...limits, maxPools: 3 });
    const at = (port: number): ReturnType<UpstreamPools['get']> => pools.get({ host: '127.0.0.1', port });
    for (let port = 4001; port <= 4100; port += 1) {
      at(port);
      at(4001);
    }
    await expectSoon(() => pools.size).toBe(3);
    expect(at(4100).closed).toBe(false);
  });

  it('cut what is under way when they are destroyed', async () => {
    pools = new UpstreamPools(limits);
    await using upstream = await startUpstream((_, response) => void response.write('first '));
    const answer = await ask(upstream.port);
    await pools.destroy();
    await expect(answer.body.text()).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' });
  });
});
