import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { ProjectId } from '@eph/contract';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhookExample } from '../parts/github/webhooks/webhook-examples.ts';
import { atMost, type Figure, median, reported } from './figure.ts';
import { createWebhookHarness, fullNameOf, type WebhookHarness } from './webhook-harness.ts';

const batches = 5;
const perBatch = 300;
const warmUp = 300;
const secret = 'a secret of the bench';

/**
 * The time from sending a webhook to the first call that applies something, divided by the time in which an empty handler answers the
 * same webhook. A webhook wakes a whole repository, so the number of environments per repository matters.
 */
export const measureWebhookToApply = async (): Promise<readonly Figure[]> => [
  atMost('webhook-to-apply', await measure(100, 10), 3),
];

/** With all environments in one repository, which one webhook wakes. */
export const measureWebhookToApplyInOne = async (): Promise<readonly Figure[]> => [
  reported('webhook-to-apply-one-repository', await measure(1, 1_000)),
];

const measure = async (projects: number, environmentsEach: number): Promise<number> => {
  const harness = await createWebhookHarness(projects, environmentsEach, secret);
  await using ours = await listen(harness.webhooks);
  await using theirs = await listen(new Hono().post('/webhooks/github', (c) => c.body(null, 202)));
  let round = 0;
  const runBatch = async (count: number): Promise<number> => {
    const applied: number[] = [];
    const answered: number[] = [];
    for (const last = round + count; round < last; round += 1) {
      const delivery = makeDelivery(harness.repository.project, round);
      applied.push(await timeToApply(harness, ours, delivery));
      answered.push(await timeToAnswer(theirs, delivery));
    }
    return percentile(applied, 0.99) / percentile(answered, 0.99);
  };
  await runBatch(warmUp);
  const ratios: number[] = [];
  for (let batch = 0; batch < batches; batch += 1) ratios.push(await runBatch(perBatch));
  await harness.engine.close();
  return median(ratios);
};

const timeToApply = async (harness: WebhookHarness, server: Listening, delivery: Delivery): Promise<number> => {
  const { engine, repository, quiet } = harness;
  const { pullRequests } = repository;
  pullRequests.label(quiet, 'preview');
  const applied = harness.firstApply();
  collect();
  const start = performance.now();
  const sent = send(server, delivery);
  const took = (await applied) - start;
  await sent;
  await engine.idle();
  pullRequests.unlabel(quiet, 'preview');
  engine.wakeProject(repository.project);
  await engine.idle();
  if (engine.environments().length !== harness.environments) throw new Error('the environment of the last round is still there');
  return took;
};

const timeToAnswer = async (server: Listening, delivery: Delivery): Promise<number> => {
  collect();
  const start = performance.now();
  await send(server, delivery);
  return performance.now() - start;
};

/** So that neither measurement pays for the garbage of the other. */
const collect = (): void => globalThis.gc?.({ type: 'minor', execution: 'sync' });

interface Delivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** What GitHub sends when a label is added. Each body differs, or ephd would drop it as a repetition. */
const makeDelivery = (project: ProjectId, round: number): Delivery => {
  const body = JSON.stringify({
    ...webhookExample('pull_request', 'labeled'),
    number: round,
    repository: { full_name: fullNameOf(project) },
  });
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-github-event': 'pull_request',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  };
  return { body, headers };
};

const send = async ({ port, agent }: Listening, { body, headers }: Delivery): Promise<void> => {
  const sending = request({ agent, host: '127.0.0.1', port, path: '/webhooks/github', method: 'POST', headers });
  sending.end(body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 202) throw new Error(`a webhook was answered with ${response.statusCode}`);
};

interface Listening extends AsyncDisposable {
  /** Keeps one connection open, as forges do. */
  readonly agent: Agent;
  readonly port: number;
}

const listen = async ({ fetch }: Hono): Promise<Listening> => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch, hostname: '127.0.0.1', port: 0 }, (address) => resolve(address.port));
  const agent = new Agent({ keepAlive: true });
  return {
    port: await promise,
    agent,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
};

const percentile = (values: readonly number[], share: number): number => {
  const value = values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1];
  if (value === undefined) throw new Error('nothing was measured');
  return value;
};
