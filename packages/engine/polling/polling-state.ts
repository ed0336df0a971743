/** How often one repository is read at present, and why. */
export interface PollingState {
  readonly account: string;
  /** A pass does not come more often than every ten seconds, whatever this is. */
  readonly intervalMs: number;
  readonly isAnnounced: boolean;
  /** Repositories of the account without webhooks. They share its limit. */
  readonly sharing: number;
  /** How much longer nothing is read, because the last reading left something unknown. */
  readonly waitMs: number;
}

/** The time between two passes while nobody is at work. */
const passMs = 30_000;

export const explainPolling = ({ account, intervalMs, isAnnounced, sharing, waitMs }: PollingState): string => {
  if (waitMs > 0)
    return `The last reading of its repository left something unknown; the next one comes in ${print(waitMs)}, or with a webhook.`;
  const interval = print(Math.max(passMs, intervalMs));
  if (isAnnounced) return `Its repository is read when a webhook arrives, and every ${interval}.`;
  const because = intervalMs > passMs ? `${sharing} repositories share the limit of ${account}, and ` : '';
  return `Its repository is read every ${interval}: ${because}no webhook of it has arrived.`;
};

const print = (ms: number): string => (ms < 90_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`);
