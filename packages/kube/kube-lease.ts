import { toFailure } from '@eph/contract';
import type { Lease, LeaseState } from '@eph/engine/history/lease';
import type { Clock } from '@eph/engine/time/clock';
import { numberAt, textAt } from './fields.ts';
import { isCode, type KubeClient } from './kube-client.ts';
import type { KubeObject, ObjectName } from './object.ts';
import { Limit, pause } from './pause.ts';

export interface KubeLeaseTiming {
  /** How long a leader that does not renew keeps the lease. */
  readonly ttlMs: number;
  /** A renewal that takes longer has failed. */
  readonly deadlineMs: number;
  readonly retryMs: number;
}

export interface KubeLeaseOptions {
  readonly client: KubeClient;
  readonly name: ObjectName;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timing?: KubeLeaseTiming;
}

/** As the controllers of Kubernetes have it. */
const usualTiming: KubeLeaseTiming = { ttlMs: 15_000, deadlineMs: 10_000, retryMs: 2_000 };
const jitter = 0.2;

const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };

/** What the lease said, and since when by the clock here: clocks of others are not compared with it. */
interface Observed {
  readonly version: string;
  readonly at: number;
}

interface Asked {
  readonly state: LeaseState;
  /** Undefined unless another leads. */
  readonly observed: Observed | undefined;
}

/** More in a row are no race. */
const conflictLimit = 10;

/**
 * One Lease object. Whoever writes it names the version that it read, so that of two that want it one gets it. Holder names must be
 * unique per process.
 */
export class KubeLease implements Lease {
  readonly #options: KubeLeaseOptions;
  readonly #timing: KubeLeaseTiming;

  constructor(options: KubeLeaseOptions) {
    this.#options = options;
    this.#timing = options.timing ?? usualTiming;
  }

  async hold(holder: string, changed: (state: LeaseState) => void, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    let last: LeaseState | undefined;
    let observed: Observed | undefined;
    while (!signal.aborted) {
      const began = clock.now();
      const next = await this.#ask(holder, last, observed, signal);
      if (signal.aborted) break;
      observed = next.observed;
      if (JSON.stringify(next.state) !== JSON.stringify(last)) changed(next.state);
      last = next.state;
      // Counted from the beginning: an answer that comes late must not make the next renewal late.
      const waitMs = this.#timing.retryMs * (1 + jitter * random()) - Math.max(0, clock.now() - began);
      await pause(clock, Math.max(0, waitMs), signal);
    }
    if (last?.state === 'leading' || (last?.state === 'degraded' && last.leading)) await this.#release(holder);
  }

  async #ask(holder: string, last: LeaseState | undefined, observed: Observed | undefined, signal: AbortSignal): Promise<Asked> {
    using limit = new Limit(this.#options.clock, this.#timing.deadlineMs, signal);
    try {
      return await this.#renewOrRead(holder, observed, limit.signal);
    } catch (error) {
      const leading = last === undefined || last.state === 'leading' || (last.state === 'degraded' && last.leading);
      // The leader may have been cut off, too: after an outage it gets the whole time again.
      return { state: { state: 'degraded', leading, message: toFailure(error).message }, observed: undefined };
    }
  }

  /** Somebody was faster: what they wrote is read at once. */
  async #renewOrRead(holder: string, observed: Observed | undefined, signal: AbortSignal): Promise<Asked> {
    for (let round = 1; ; round += 1) {
      try {
        return await this.#renew(holder, observed, signal);
      } catch (error) {
        if (!isCode(error, 'object.conflict') || round === conflictLimit) throw error;
      }
    }
  }

  async #renew(holder: string, observed: Observed | undefined, signal: AbortSignal): Promise<Asked> {
    const { client, name, clock } = this.#options;
    const lease = await client.get(kind, name, signal);
    if (lease === undefined) {
      await client.create(this.#lease(holder, undefined), signal);
      return { state: { state: 'leading' }, observed: undefined };
    }
    const current = textAt(lease, 'spec', 'holderIdentity') ?? '';
    if (current === holder || current === '' || this.#isOver(lease, observed)) {
      await client.update(this.#lease(holder, lease), signal);
      return { state: { state: 'leading' }, observed: undefined };
    }
    const version = lease.metadata.resourceVersion ?? '';
    const now = observed?.version === version ? observed : { version, at: clock.now() };
    return { state: { state: 'standby', holder: current }, observed: now };
  }

  #isOver(lease: KubeObject, observed: Observed | undefined): boolean {
    if (observed === undefined || observed.version !== lease.metadata.resourceVersion) return false;
    const said = (numberAt(lease, 'spec', 'leaseDurationSeconds') ?? 0) * 1_000;
    return this.#options.clock.now() - observed.at >= Math.max(said, this.#timing.ttlMs);
  }

  /** Times are for people who look at it. */
  #lease(holder: string, before: KubeObject | undefined): KubeObject {
    const { name, clock } = this.#options;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const isRenewal = textAt(before, 'spec', 'holderIdentity') === holder;
    const transitions = numberAt(before, 'spec', 'leaseTransitions') ?? 0;
    return {
      ...kind,
      metadata: { ...name, ...(before === undefined ? {} : { resourceVersion: before.metadata.resourceVersion ?? '' }) },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: Math.max(1, Math.ceil(this.#timing.ttlMs / 1_000)),
        acquireTime: (isRenewal ? textAt(before, 'spec', 'acquireTime') : undefined) ?? now,
        renewTime: now,
        leaseTransitions: before === undefined || isRenewal || holder === '' ? transitions : transitions + 1,
      },
    };
  }

  /** Without an answer, the lease is over by itself. */
  async #release(holder: string): Promise<void> {
    const { client, name, clock } = this.#options;
    using limit = new Limit(clock, this.#timing.retryMs, new AbortController().signal);
    try {
      const lease = await client.get(kind, name, limit.signal);
      if (textAt(lease, 'spec', 'holderIdentity') === holder) await client.update(this.#lease('', lease), limit.signal);
    } catch {
      return; // As above.
    }
  }
}
