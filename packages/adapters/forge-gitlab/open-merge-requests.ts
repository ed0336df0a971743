import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { createDropCheck } from '../forge-http/drop-check.ts';
import { listBy } from '../forge-http/forge-http.ts';
import type { Listing, Page } from '../forge-http/read-pages.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { type MergeRequestShape, mergeRequestShape } from './shapes.ts';

const mergeRequests = listBy('merge requests', mergeRequestShape, ({ iid }) => iid);

const newestFirst = 'order_by=updated_at&sort=desc';
const open = `/merge_requests?state=opened&${newestFirst}`;
const all = `/merge_requests?state=all&${newestFirst}`;

/** After this time the other pages are read again, in case GitLab did not move a change to the first. */
const maxAgeMs = 10 * 60_000;

interface Known {
  readonly first: Page<MergeRequestShape>;
  readonly listing: Listing<MergeRequestShape>;
  readonly at: number;
}

/**
 * The open merge requests of a project. Every change moves a merge request to the first page, and closing one changes
 * the total. While both are unchanged so are the other pages, and one conditional request is enough.
 */
export const createOpenMergeRequests = (
  client: GitlabClient,
  now: () => number,
): ((signal: AbortSignal) => Promise<Listing<MergeRequestShape>>) => {
  const checkDrop = createDropCheck(mergeRequests.what);
  let known: Known | undefined;

  /** Without a total, the other pages are unknown. */
  const isUnchanged = (first: Page<MergeRequestShape>): boolean => {
    if (known?.first !== first) return false;
    return first.next === undefined || (first.total !== undefined && now() - known.at < maxAgeMs);
  };

  /** Merge requests are hardly ever deleted: those that were open are now first among all. */
  const recount = async (signal: AbortSignal): Promise<Answer<number>> => {
    const answer = await client.readPage(all, mergeRequests, '1', signal);
    if (!answer.ok) return answer;
    const { items } = answer.value;
    if (items.length === 0 && (known?.listing.items.length ?? 0) > 0)
      return invalidAnswer(`GitLab lists no ${mergeRequests.what} of ${client.shown}, not even closed ones.`);
    return { ok: true, value: items.filter(({ state }) => state === 'opened').length };
  };

  return async (signal) => {
    const first = await client.readPage(open, mergeRequests, '1', signal);
    if (first.ok && known !== undefined && isUnchanged(first.value)) return known.listing;
    const listing = await checkDrop(await client.list(open, mergeRequests, signal, first), () => recount(signal));
    if (listing.complete && first.ok) known = { first: first.value, listing, at: now() };
    return listing;
  };
};
