import { describe, expect, it } from 'vitest';
import { LoopbackServer } from './loopback-server.ts';
import { WebhookDelivery } from './webhook-delivery.ts';

const receiver = async (): Promise<{ server: LoopbackServer; bodies: string[] }> => {
  const bodies: string[] = [];
  const server = await LoopbackServer.start((request) => {
    bodies.push(`${request.headers['x-event']} ${request.body.toString()}`);
    return Promise.resolve({ answer: { status: 202, headers: {}, body: Buffer.alloc(0) }, fault: undefined });
  });
  return { server, bodies };
};

describe('webhook delivery', () => {
  it('delivers in order and records what the receiver answered', async () => {
    const { server, bodies } = await receiver();
    await using _server = server;
    await using delivery = new WebhookDelivery();
    for (const body of ['1', '2', '3']) delivery.send({ url: server.url, headers: { 'x-event': 'push' }, body });
    await delivery.settled();
    expect(bodies).toEqual(['push 1', 'push 2', 'push 3']);
    expect(delivery.records.map(({ outcome }) => outcome)).toEqual([202, 202, 202]);
  });

  it('holds and drops webhooks, and records why there was no answer', async () => {
    const { server, bodies } = await receiver();
    await using _server = server;
    await using delivery = new WebhookDelivery();
    const send = (url: string, body: string): void => delivery.send({ url, headers: { 'x-event': 'note' }, body });
    delivery.mode = 'lost';
    send(server.url, 'lost');
    delivery.mode = 'held';
    send(server.url, 'held');
    await delivery.settled();
    expect(bodies).toEqual([]);
    delivery.mode = 'deliver';
    send('http://127.0.0.1:1/', 'nobody');
    await delivery.settled();
    expect(bodies).toEqual(['note held']);
    expect(delivery.records.map(({ outcome }) => outcome)).toEqual([
      'lost',
      202,
      { error: expect.stringMatching(/fetch failed|bad port/u) },
    ]);
  });
});
