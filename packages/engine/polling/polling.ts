import type { ProjectId, Reading, Source } from '@eph/contract';
import { Doubt, isUnderWay } from '../time/doubt.ts';
import { TokenBucket } from '../time/token-bucket.ts';
import type { PollingState } from './polling-state.ts';

/** Repositories with the same account share what their forge allows. */
export interface PollingLimit {
  readonly account: string;
  /** Readings a minute of all of them together. */
  readonly readingsPerMinute: number;
}

interface Polled {
  reading: Reading<Source> | undefined;
  /** Of the last complete reading. */
  mark: string | undefined;
  /** When the last reading began. */
  readAt: number;
  changedAt: number;
  /** When the last webhook arrived. */
  announcedAt: number;
  isChosen: boolean;
  /** Of the list as a whole. Nothing is read while it waits, unless a webhook arrives or somebody asks. */
  readonly doubt: Doubt;
  /** Of single sources, such as a file that could not be read. */
  readonly unknown: Doubt;
}

interface Account {
  readonly readings: TokenBucket;
  /** A change that no webhook announced, although webhooks had arrived. */
  missed: { readonly at: number; readonly project: ProjectId } | undefined;
}

const minuteMs = 60_000;
/** A change without a webhook is found at the latest after so long. */
const longestIntervalMs = 10 * minuteMs;
/** A repository without changes for an hour is quiet: then it is read every ten minutes. */
const quietShare = 6;
/** How long a webhook may arrive after its change was read. */
const graceMs = 30_000;
/** A forge that delivers a webhook answers again, most likely, and a person who asks should not wait. */
const askedDoubtMs = 5_000;

/**
 * When the sources of a project are read again. In between, runs use the last reading: a removal reads its own source in any case.
 *
 * - Without a limit, every run reads.
 * - With one, a pass reads those that are due, longest unread first, and no more than the limit allows. So the interval grows with the
 *   number of repositories. Where webhooks arrive, it grows also with the time since the last change, up to ten minutes.
 * - A change that was found without a webhook ends the trust in the webhooks of its account, until the next one of each repository.
 * - After a reading that left something unknown, the next one waits, longer each time.
 */
export class Polling {
  readonly #limitOf: (id: ProjectId) => PollingLimit | undefined;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #projects = new Map<ProjectId, Polled>();
  readonly #accounts = new Map<string, Account>();

  constructor(limitOf: (id: ProjectId) => PollingLimit | undefined, now: () => number, random: () => number) {
    this.#limitOf = limitOf;
    this.#now = now;
    this.#random = random;
  }

  /** A webhook arrived. */
  announce(id: ProjectId): void {
    const account = this.#accountOf(id);
    if (account === undefined) return;
    const polled = this.#polled(id);
    polled.announcedAt = this.#now();
    if (account.missed?.project === id && polled.announcedAt - account.missed.at <= graceMs) account.missed = undefined;
  }

  /** A pass begins. */
  choose(projects: Iterable<ProjectId>): void {
    const now = this.#now();
    const due = [...projects].filter((id) => this.#isDue(id, now));
    for (const id of due.toSorted((a, b) => this.#polled(a).readAt - this.#polled(b).readAt)) {
      const account = this.#accountOf(id);
      if (account !== undefined && account.readings.left < 1) continue;
      this.#polled(id).isChosen = true;
      account?.readings.take();
    }
  }

  /** Whether a run reads now, uses the last reading, or waits for a later pass to read for the first time. */
  decide(id: ProjectId, wokenAt: number): 'read' | 'wait' | Reading<Source> {
    const polled = this.#polled(id);
    const { reading = 'wait', readAt, announcedAt, doubt } = polled;
    const now = this.#now();
    const isAsked = Math.max(announcedAt, wokenAt) > readAt && now - readAt >= askedDoubtMs;
    if (doubt.waitMs > 0 && !isAsked) return reading;
    // A reading in the future is one from before the clock was set back.
    const isOutdated = readAt > now || (wokenAt > Number.NEGATIVE_INFINITY && wokenAt >= readAt);
    const isDue = this.#limitOf(id) === undefined || polled.isChosen || isOutdated || doubt.exists;
    return isDue ? 'read' : reading;
  }

  noteReading(id: ProjectId, at: number, reading: Reading<Source>): void {
    const polled = this.#polled(id);
    const isFirst = polled.mark === undefined;
    const isChanged = reading.complete && reading.mark !== polled.mark;
    if (isChanged) Object.assign(polled, { changedAt: at, mark: reading.mark });
    const account = this.#accountOf(id);
    const isMissed = isChanged && !isFirst && polled.announcedAt < polled.readAt;
    // A later one must not prolong the grace of this one.
    const isPending = account?.missed !== undefined && isUnderWay(account.missed.at, graceMs, this.#now());
    if (account !== undefined && isMissed && !isPending && this.#isAnnounced(polled, account))
      account.missed = { at, project: id };
    Object.assign(polled, { reading, readAt: at, isChosen: false });
  }

  /** What is unknown of the list, and of single sources of it. */
  doubtsOf(id: ProjectId): Readonly<Pick<Polled, 'doubt' | 'unknown'>> {
    return this.#polled(id);
  }

  forget(ids: Iterable<ProjectId>): void {
    for (const id of ids) this.#projects.delete(id);
  }

  /** Of projects with a limit. */
  states(): ReadonlyMap<ProjectId, PollingState> {
    const limited = [...this.#projects].flatMap(([id, polled]) => {
      const [limit, account] = [this.#limitOf(id), this.#accountOf(id)];
      if (limit === undefined || account === undefined) return [];
      return [{ id, polled, ...limit, isAnnounced: this.#isAnnounced(polled, account) }];
    });
    const others = Map.groupBy(limited, ({ account, isAnnounced }) => (isAnnounced ? undefined : account));
    return new Map(
      limited.map(({ id, polled, account, isAnnounced, readingsPerMinute }) => {
        const sharing = others.get(account)?.length ?? 0;
        const intervalMs = isAnnounced ? quietIntervalMs(polled) : (sharing * minuteMs) / readingsPerMinute;
        return [id, { account, intervalMs, isAnnounced, sharing, waitMs: polled.doubt.waitMs }];
      }),
    );
  }

  #isDue(id: ProjectId, now: number): boolean {
    const polled = this.#polled(id);
    const account = this.#accountOf(id);
    if (polled.doubt.waitMs > 0) return false;
    if (account === undefined || !this.#isAnnounced(polled, account)) return true;
    return !isUnderWay(polled.readAt, quietIntervalMs(polled), now);
  }

  #isAnnounced({ announcedAt }: Polled, { missed }: Account): boolean {
    if (announcedAt === Number.NEGATIVE_INFINITY) return false;
    return missed === undefined || announcedAt > missed.at || this.#now() - missed.at <= graceMs;
  }

  #accountOf(id: ProjectId): Account | undefined {
    const limit = this.#limitOf(id);
    if (limit === undefined) return undefined;
    const rate = { perSecond: limit.readingsPerMinute / 60, burst: limit.readingsPerMinute };
    const account = this.#accounts.get(limit.account) ?? { readings: new TokenBucket(rate, this.#now), missed: undefined };
    this.#accounts.set(limit.account, account);
    return account;
  }

  #polled(id: ProjectId): Polled {
    const polled = this.#projects.get(id) ?? {
      reading: undefined,
      mark: undefined,
      readAt: Number.NEGATIVE_INFINITY,
      changedAt: Number.NEGATIVE_INFINITY,
      announcedAt: Number.NEGATIVE_INFINITY,
      isChosen: false,
      doubt: new Doubt(this.#now, this.#random),
      unknown: new Doubt(this.#now, this.#random),
    };
    this.#projects.set(id, polled);
    return polled;
  }
}

const quietIntervalMs = ({ readAt, changedAt }: Polled): number =>
  Math.max(0, Math.min(longestIntervalMs, (readAt - changedAt) / quietShare));
