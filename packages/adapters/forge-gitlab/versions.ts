import { type CommitSha, commitSha } from '@eph/contract';
import { invalidAnswer } from '../forge-http/answer.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { type GitlabClient, listOf } from './gitlab-client.ts';
import { isCommit } from './merge-request-source.ts';
import { type VersionShape, versionShape } from './shapes.ts';

const versions = listOf('versions', versionShape);

/** Every head that a merge request had, and since when. GitLab keeps them also when a push was forced. */
export const readVersions = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Listing<VersionShape>> => {
  const listing = await client.list(`/merge_requests/${number}/versions`, versions, { signal, fresh: true });
  if (!listing.complete || listing.items.length > 0) return listing;
  // Whatever can be commented on or approved has a head, and every head is a version.
  const refusal = invalidAnswer(`${client.shown} shows none of the versions of merge request ${number}.`);
  return { complete: false, items: [], refusal };
};

/** Which head a merge request had at a moment; null where that cannot be told. */
export const headAt = (seen: readonly VersionShape[], at: string): CommitSha | null => {
  const then = Date.parse(at);
  const before = seen.filter(({ created_at: since }) => Date.parse(since) <= then);
  const last = before.toSorted((a, b) => a.id - b.id).at(-1)?.head_commit_sha ?? null;
  return isCommit(last) ? commitSha(last) : null;
};
