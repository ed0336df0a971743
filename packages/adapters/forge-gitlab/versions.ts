import { type CommitSha, commitSha } from '@eph/contract';
import { invalidAnswer } from '../forge-http/answer.ts';
import { listOf } from '../forge-http/forge-http.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { isCommit } from './merge-request-source.ts';
import { type VersionShape, versionShape } from './shapes.ts';

const versions = listOf('versions', versionShape);

/** Every head of a merge request with its time, including before forced pushes. */
export const readVersions = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Listing<VersionShape>> => {
  const listing = await client.list(`/merge_requests/${number}/versions`, versions, signal);
  if (!listing.complete || listing.items.length > 0) return listing;
  // Every merge request has a head, and every head is a version.
  const refusal = invalidAnswer(`${client.shown} does not list the versions of merge request ${number}.`);
  return { complete: false, items: [], refusal };
};

/** The head of a merge request at a time; null if unknown. */
export const headAt = (seen: readonly VersionShape[], at: string): CommitSha | null => {
  const then = Date.parse(at);
  const before = seen.filter(({ created_at: since }) => Date.parse(since) <= then);
  const last = before.toSorted((a, b) => a.id - b.id).at(-1)?.head_commit_sha ?? null;
  return isCommit(last) ? commitSha(last) : null;
};
