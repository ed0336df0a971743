import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Conformance } from '../openapi/conformance.ts';
import type { Installation } from '../state/app.ts';
import type { GithubEvent } from '../state/github-event.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Hook } from '../state/hook.ts';
import { nodeId } from '../views/text.ts';
import { webhookPayload } from './webhook-payload.ts';

export interface Delivery {
  /** `X-GitHub-Delivery`; a delivery that is sent again keeps it. */
  readonly id: string;
  readonly event: string;
  readonly action: string | undefined;
  readonly hook: Hook;
  readonly body: string;
  /** The answer of the receiver, or why there is none. */
  outcome: number | 'waiting' | 'dropped' | 'unreachable';
}

interface Receiver {
  readonly hook: Hook;
  readonly installation: Installation | undefined;
}

/** As long as GitHub waits for an answer. */
const answerWithinMs = 10_000;

/** Sends what happens to whoever asked for it, one delivery after the other per hook; GitHub never tries a second time. */
export class Webhooks {
  /** Switched off, events are lost as if nobody had registered. */
  enabled = true;
  dropProbability = 0;
  duplicateProbability = 0;
  delayMs = 0;
  readonly #github: GithubState;
  readonly #conformance: Conformance;
  readonly #random: () => number;
  readonly #deliveries: Delivery[] = [];
  readonly #queues = new Map<number, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(github: GithubState, conformance: Conformance, random: () => number) {
    this.#github = github;
    this.#conformance = conformance;
    this.#random = random;
    github.onEvent((event) => this.#announce(event));
  }

  get deliveries(): readonly Delivery[] {
    return this.#deliveries;
  }

  /** Sends a delivery again, signature, id and all. */
  replay(delivery: Delivery): void {
    this.#enqueue({ ...delivery, outcome: 'waiting' });
  }

  /** Resolves when everything that was announced has been sent or given up. */
  async settled(): Promise<void> {
    for (const queue of this.#queues.values()) await queue;
  }

  async stop(): Promise<void> {
    this.enabled = false;
    this.#stopping.abort();
    await this.settled();
  }

  #announce(event: GithubEvent): void {
    if (!this.enabled) return;
    const receivers = this.#receiversOf(event);
    if (receivers.length === 0) return;
    const { name, action, described, payload } = webhookPayload(this.#github, event);
    this.#conformance.checkWebhook(described, payload);
    for (const { hook, installation } of receivers) {
      const told =
        installation === undefined ? {} : { installation: { id: installation.id, node_id: nodeId('IN', installation.id) } };
      const body = JSON.stringify({ ...payload, ...told });
      const delivery: Delivery = { id: randomUUID(), event: name, action, hook, body, outcome: 'waiting' };
      this.#enqueue(delivery);
      if (this.#random() < this.duplicateProbability) this.replay(delivery);
    }
  }

  #receiversOf(event: GithubEvent): readonly Receiver[] {
    if (event.kind === 'ping') return [{ hook: event.hook, installation: undefined }];
    const { repository } = event;
    const ofApps = [...this.#github.installations.values()]
      .filter(({ account, selected }) => account === repository.owner && (selected?.has(repository.id) ?? true))
      .flatMap((installation) => (installation.app.hook === undefined ? [] : [{ hook: installation.app.hook, installation }]));
    const plain = [...repository.hooks.values()].map((hook) => ({ hook, installation: undefined }));
    return [...plain, ...ofApps].filter(({ hook }) => hook.events.includes('*') || hook.events.includes(event.kind));
  }

  #enqueue(delivery: Delivery): void {
    this.#deliveries.push(delivery);
    if (this.#random() < this.dropProbability) {
      delivery.outcome = 'dropped';
      return;
    }
    const { id } = delivery.hook;
    const before = this.#queues.get(id) ?? Promise.resolve();
    this.#queues.set(
      id,
      before.then(() => this.#deliver(delivery)),
    );
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { signal } = this.#stopping;
    try {
      if (this.delayMs > 0) await delay(this.delayMs, undefined, { signal });
      const response = await fetch(delivery.hook.url, {
        method: 'POST',
        headers: headersOf(delivery),
        body: delivery.body,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]),
      });
      await response.arrayBuffer();
      delivery.outcome = response.status;
    } catch {
      // A receiver that is away is a state of the network here, and the delivery says so.
      delivery.outcome = 'unreachable';
    }
  }
}

const headersOf = ({ id, event, hook, body }: Delivery): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'GitHub-Hookshot/0123abc',
  accept: '*/*',
  'x-github-delivery': id,
  'x-github-event': event,
  'x-github-hook-id': String(hook.id),
  'x-github-hook-installation-target-type': hook.target.type,
  'x-github-hook-installation-target-id': String(hook.target.id),
  ...(hook.secret === undefined
    ? {}
    : {
        'x-hub-signature': `sha1=${createHmac('sha1', hook.secret).update(body).digest('hex')}`,
        'x-hub-signature-256': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
      }),
});
