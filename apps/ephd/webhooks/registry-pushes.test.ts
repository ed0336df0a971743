import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Receiver, secrets } from './receiver.fake.ts';

const start = async (): Promise<Receiver> => {
  const receiver = await new Receiver().start();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  return receiver;
};

const send = async (receiver: Receiver, body: unknown, headers: Record<string, string>): Promise<[number, unknown]> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${receiver.url}/webhooks/registry`, { method: 'POST', headers, body: text });
  return [response.status, await response.json()];
};

/** As https://distribution.github.io/distribution/about/notifications/ shows it. */
const notification = {
  events: [
    {
      id: '320678d8-ca14-430f-8bb6-4ca139cd83f7',
      timestamp: '2016-03-09T14:44:26.402973972-08:00',
      action: 'push',
      target: { mediaType: 'application/vnd.oci.image.manifest.v1+json', repository: 'acme/api', tag: 'pr-7' },
      request: { host: 'registry.example', method: 'PUT' },
    },
    { id: '2', action: 'pull', target: { repository: 'acme/web' } },
    { id: '3', action: 'push', target: { repository: 'acme/api' } },
  ],
};

const packagePublished = {
  action: 'published',
  registry_package: { name: 'api', namespace: 'Acme', package_type: 'CONTAINER' },
  repository: { full_name: 'Acme/shop' },
};

const bearer = { authorization: `Bearer ${secrets.registry}` };
const signed = (body: unknown): Record<string, string> => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secrets.packages).update(JSON.stringify(body)).digest('hex')}`,
});

describe('what a registry says', () => {
  it('wakes who waits for an image of the repository, once', async () => {
    const receiver = await start();
    expect(await send(receiver, notification, bearer)).toEqual([202, { pushed: ['registry.example/acme/api'] }]);
    expect(await send(receiver, notification, bearer)).toEqual([202, { pushed: [], because: 'already delivered' }]);
    expect(receiver.pushed).toEqual(['registry.example/acme/api']);
  });

  it('may come from GitHub, with its signature', async () => {
    const receiver = await start();
    expect(await send(receiver, packagePublished, signed(packagePublished))).toEqual([202, { pushed: ['ghcr.io/acme/api'] }]);
  });

  it('may be that GitHub has added the webhook', async () => {
    const receiver = await start();
    const ping = { zen: 'Keep it logically awesome.', hook_id: 7, hook: { type: 'Organization', events: ['package'] } };
    expect(await send(receiver, ping, signed(ping))).toEqual([202, { pushed: [] }]);
  });

  it.each([
    ['no header', {}],
    ['another secret', { authorization: 'Bearer guess' }],
    ['the signature of another body', signed({ events: [] })],
  ])('counts for nothing with %s', async (_, headers) => {
    const receiver = await start();
    expect(await send(receiver, notification, headers)).toMatchObject([401, { error: { code: 'api.forbidden' } }]);
    expect(receiver.pushed).toEqual([]);
  });

  it.each([
    ['no JSON', '{', 400],
    ['another form', { hello: 'there' }, 400],
    ['names that are no repositories', { events: [{ action: 'push', target: { repository: '../../etc' } }] }, 202],
    ['no events', { events: [] }, 202],
  ])('does no harm with %s', async (_, body, status) => {
    const receiver = await start();
    expect((await send(receiver, body, bearer))[0]).toBe(status);
    expect(receiver.pushed).toEqual([]);
  });

  it('counts only for the host whose secret it has', async () => {
    const receiver = await start();
    const elsewhere = { events: [{ action: 'push', target: { repository: 'ghcr.io/acme/api' }, request: { host: 'ghcr.io' } }] };
    await send(receiver, elsewhere, bearer);
    expect(receiver.pushed).toEqual(['registry.example/ghcr.io/acme/api']);
  });
});
