import crypto, { createHmac } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { forgeNames, payload, Receiver, type Sent, shop } from './receiver.fake.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await new Receiver().start();
});
afterEach(() => receiver[Symbol.asyncDispose]());

const limit = 5 * 1024 * 1024;

describe('a forgery', () => {
  const hex = createHmac('sha256', 'github secret').update(JSON.stringify(payload)).digest('hex');

  it.each<[string, Sent]>([
    ['another secret', { secret: 'guess' }],
    ['the secret of another forge', { secret: 'gitea secret' }],
    ['no signature', { headers: { 'x-hub-signature-256': undefined } }],
    ['an empty signature', { headers: { 'x-hub-signature-256': 'sha256=' } }],
    ['half a signature', { headers: { 'x-hub-signature-256': `sha256=${hex.slice(0, 32)}` } }],
    ['too much of a signature', { headers: { 'x-hub-signature-256': `sha256=${hex}00` } }],
    ['no digits', { headers: { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` } }],
    ['another digest', { headers: { 'x-hub-signature-256': `sha1=${hex}` } }],
    ['the signature of another body', { body: { ...payload, more: 1 }, headers: { 'x-hub-signature-256': `sha256=${hex}` } }],
    ['a signature of nothing', { forge: 'gitea', secret: '' }],
    ['the wrong token', { forge: 'gitlab', event: 'Push Hook', secret: 'gitlab secre' }],
    ['the beginning of the token', { forge: 'gitlab', event: 'Push Hook', secret: 'g' }],
    ['no token', { forge: 'gitlab', event: 'Push Hook', headers: { 'x-gitlab-token': undefined } }],
    ['an empty token', { forge: 'gitlab', event: 'Push Hook', secret: '' }],
  ])('with %s wakes nobody', async (_, sent) => {
    const response = await receiver.send(sent);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { code: 'api.forbidden' } });
    expect(receiver.woken).toEqual([]);
  });

  it('is compared in constant time', async () => {
    const { timingSafeEqual } = crypto;
    let compared = 0;
    crypto.timingSafeEqual = (...args: Parameters<typeof timingSafeEqual>) => {
      compared += 1;
      return timingSafeEqual(...args);
    };
    syncBuiltinESMExports();
    try {
      expect(await receiver.statusOf({ forge: 'gitea' })).toBe(202);
      expect(compared).toBe(1);
      expect(await receiver.statusOf({ forge: 'gitea', secret: 'guess' })).toBe(401);
      expect(compared).toBe(2);
      expect(await receiver.statusOf({ forge: 'gitlab', event: 'Push Hook' })).toBe(202);
      expect(compared).toBe(3);
    } finally {
      crypto.timingSafeEqual = timingSafeEqual;
      syncBuiltinESMExports();
    }
  });

  it('finds nothing where no secret was set, or an empty one', async () => {
    await using closed = await new Receiver().start({ github: '', gitlab: '' });
    for (const forge of forgeNames) expect(await closed.statusOf({ forge, secret: '' })).toBe(404);
    expect(closed.woken).toEqual([]);
  });

  it('does not fill the log', async () => {
    for (let count = 0; count < 20; count += 1) await receiver.statusOf({ secret: 'guess' });
    receiver.now += 60_000;
    await receiver.statusOf({ secret: 'guess' });
    expect(receiver.logged).toEqual([
      { fields: { path: '/webhooks/github', status: 401, count: 1 }, message: 'webhooks were refused' },
      { fields: { path: '/webhooks/github', status: 401, count: 20 }, message: 'webhooks were refused' },
    ]);
  });
});

describe('a body that was delivered before', () => {
  it('is acknowledged and wakes nobody, whatever its headers are', async () => {
    await receiver.send({ headers: { 'x-github-delivery': 'one' } });
    for (const id of ['one', 'two', undefined]) {
      const response = await receiver.send({ headers: { 'x-github-delivery': id } });
      expect([response.status, await response.json()]).toEqual([202, { woken: [], because: 'already delivered' }]);
    }
    expect(await receiver.statusOf({ event: 'pull_request' })).toBe(202);
    expect(receiver.woken).toEqual([shop]);
  });

  it('wakes once when all arrive together', async () => {
    await Promise.all(Array.from({ length: 50 }, () => receiver.statusOf({})));
    expect(receiver.woken).toEqual([shop]);
  });

  it('counts again after ten minutes', async () => {
    await receiver.statusOf({});
    receiver.now += 10 * 60_000 - 1;
    await receiver.statusOf({});
    expect(receiver.woken).toHaveLength(1);
    receiver.now += 1;
    await receiver.statusOf({});
    expect(receiver.woken).toHaveLength(2);
  });

  it('is not remembered when it was a forgery', async () => {
    expect(await receiver.statusOf({ secret: 'guess' })).toBe(401);
    expect(await receiver.statusOf({})).toBe(202);
    expect(receiver.woken).toEqual([shop]);
  });
});

describe('an invalid body', () => {
  it.each([
    ['cut off', '{"repository":'],
    ['empty', ''],
    ['not an object', '[1]'],
    ['nothing', 'null'],
    ['of other types', '{"repository":{"full_name":7}}'],
    ['nested', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('is refused each time: %s', async (_, body) => {
    for (let count = 0; count < 2; count += 1) expect(await receiver.statusOf({ body })).toBe(400);
    expect(receiver.woken).toEqual([]);
  });

  it('is refused when it is not UTF-8', async () => {
    const bytes = Buffer.from('{"repository":{"full_name":"acme/shop\xff"}}', 'latin1');
    const signature = createHmac('sha256', 'github secret').update(bytes).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${signature}`,
    };
    const { status } = await fetch(`${receiver.url}/webhooks/github`, { method: 'POST', headers, body: bytes });
    expect(status).toBe(400);
  });

  it('is refused when it is a form, with the remedy', async () => {
    const response = await receiver.send({ headers: { 'content-type': 'application/x-www-form-urlencoded' } });
    expect(response.status).toBe(415);
    expect(await response.text()).toContain('set the content type of the webhook to application/json');
  });

  it('ignores property names of JavaScript', async () => {
    const body = '{"__proto__":{"repository":{"full_name":"acme/shop"}},"constructor":1}';
    expect(await receiver.statusOf({ body })).toBe(202);
    expect(receiver.woken).toEqual([]);
  });

  it('is as large as the limit and no larger', async () => {
    const filled = (bytes: number): string => {
      const start = `{"repository":{"full_name":"acme/shop"},"fill":"`;
      return `${start}${'x'.repeat(bytes - start.length - 2)}"}`;
    };
    expect(await receiver.statusOf({ body: filled(limit) })).toBe(202);
    expect(await receiver.statusOf({ body: filled(limit + 1) })).toBe(413);
    expect(receiver.woken).toHaveLength(1);
  });

  it('is refused as too large while it arrives in pieces of unknown number', async () => {
    const head = `POST /webhooks/github HTTP/1.1\r\nhost: ephd\r\ncontent-type: application/json\r\nx-hub-signature-256: sha256=${'0'.repeat(64)}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const piece = `${(100_000).toString(16)}\r\n${' '.repeat(100_000)}\r\n`;
    // Never finished, so it is refused before its end.
    const pieces = Array.from({ length: Math.ceil(limit / 100_000) + 1 }, () => piece);
    expect(await talk(receiver.port, [head, ...pieces])).toContain('HTTP/1.1 413');
  });

  it('is not read at all without a valid header', async () => {
    const answer = await talk(receiver.port, [
      'POST /webhooks/gitlab HTTP/1.1\r\nhost: ephd\r\ncontent-type: application/json\r\nx-gitlab-token: guess\r\ncontent-length: 9999\r\n\r\n',
    ]);
    expect(answer).toContain('HTTP/1.1 401');
  });

  it('leaves nothing behind when its sender goes away', async () => {
    const socket = connect(receiver.port, '127.0.0.1');
    const head = `POST /webhooks/github HTTP/1.1\r\nhost: ephd\r\ncontent-type: application/json\r\nx-hub-signature-256: sha256=${'0'.repeat(64)}\r\ncontent-length: 9999\r\n\r\n{`;
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    socket.destroy();
    expect(await receiver.statusOf({})).toBe(202);
    expect(receiver.logged.map((one) => one.message)).not.toContain('webhook failed');
  });
});

/** Sends pieces of a request and gives back everything that comes until the other side closes. */
const talk = (port: number, pieces: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => resolve(answer));
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)));
    for (const piece of pieces) socket.write(piece);
  });
