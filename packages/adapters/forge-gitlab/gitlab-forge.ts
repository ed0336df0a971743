import { completeReading, type Failure, failure, incompleteReading, markSources, type Reading, type Source } from '@eph/contract';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import { createGitForge, type GitForgeOptions } from '../forge-git/git-forge.ts';
import { createCachedListing } from '../forge-http/cached-listing.ts';
import { parserOf } from '../forge-http/forge-http.ts';
import { isGone } from '../forge-http/is-gone.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { SharedChanges } from '../forge-http/shared-changes.ts';
import { createGitlabClient, type GitlabClient, type GitlabClientOptions } from './gitlab-client.ts';
import { createGitlabPulls } from './gitlab-pulls.ts';
import { hasCommit, pathOf, toSource } from './merge-request-source.ts';
import { createOpenMergeRequests } from './open-merge-requests.ts';
import { type MergeRequestShape, mergeRequestShape } from './shapes.ts';

export interface GitlabForgeOptions extends GitlabClientOptions, Pick<GitForgeOptions, 'project' | 'folder' | 'environment'> {
  /** With it, an unchanged pass is one request for all projects of the group. */
  readonly shared?: SharedChanges | undefined;
}

export interface GitlabForge extends Forge, AsyncDisposable {
  readonly pulls: Pulls;
  readonly client: GitlabClient;
}

const parseMergeRequest = parserOf(mergeRequestShape);

/**
 * A project of GitLab. Branches, tags and files come from Git, which lists them completely in one exchange outside of
 * the rate limit; merge requests come from the API.
 */
export const createGitlabForge = (options: GitlabForgeOptions): GitlabForge => {
  const { project } = options;
  const client = createGitlabClient(options);
  const git = createGitForge({ ...options, location: client.location });
  const open = createCachedListing({
    read: createOpenMergeRequests(client, options.now),
    shared: options.shared,
    path: options.path,
    pathOf: ({ references }) => (references === undefined ? undefined : pathOf(references)),
    hasCommit,
    now: options.now,
  });
  let before: { readonly parts: readonly Reading<Source>[]; readonly whole: Reading<Source> } | undefined;

  const withoutCommit = ({ iid }: MergeRequestShape): Failure =>
    failure('forge.incomplete', `The commit of merge request ${iid} of ${client.shown} is not known.`);

  const listOpen = async (refs: Promise<Reading<Source>>, signal: AbortSignal, asOf?: number) => {
    const cached = asOf === undefined ? undefined : await open.readUnchanged(asOf, signal);
    return cached !== undefined && matchesBranchTips(cached.items, (await refs).items) ? cached : await open.read(signal);
  };

  const toReading = memoizeLast((listing: Listing<MergeRequestShape>): Reading<Source> => {
    const items = listing.items.filter(hasCommit).map((merge) => toSource(project, merge));
    const faults = listing.items.filter((merge) => !hasCommit(merge)).map(withoutCommit);
    if (!listing.complete) return incompleteReading(items, listing.refusal.fault, ...faults);
    return faults.length === 0 ? completeReading(items) : incompleteReading(items, ...faults);
  });

  /** Returns the same object as long as its parts are unchanged. */
  const combine = (parts: readonly Reading<Source>[]): Reading<Source> => {
    if (before !== undefined && parts.every((part, index) => isSame(part, before?.parts[index]))) return before.whole;
    const items = parts.flatMap((part) => part.items);
    const faults = parts.flatMap((part) => part.faults);
    const whole = parts.every((part) => part.complete)
      ? completeReading(items, markSources(items))
      : incompleteReading(items, ...faults);
    before = { parts, whole };
    return whole;
  };

  const readMergeRequest = async (number: number, signal: AbortSignal): Promise<SourceAnswer> => {
    const answer = await client.read(`/merge_requests/${number}`, parseMergeRequest, signal);
    if (!answer.ok) return (await isGone(client, answer, signal)) ? { state: 'gone' } : { state: 'unknown', fault: answer.fault };
    const merge = answer.value;
    if (merge.state !== 'opened' && merge.state !== 'locked') return { state: 'gone' };
    if (!hasCommit(merge)) return { state: 'unknown', fault: withoutCommit(merge) };
    return { state: 'present', source: toSource(project, merge) };
  };

  return {
    ...git,
    client,
    pulls: createGitlabPulls(client),

    async sources(signal, asOf) {
      const refs = git.sources(signal);
      return combine(await Promise.all([refs, listOpen(refs, signal, asOf).then(toReading)]));
    },

    async source(ref, signal) {
      if (ref.kind !== 'pr') return await git.source(ref, signal);
      const number = parseNumber(ref);
      return number === undefined ? { state: 'gone' } : await readMergeRequest(number, signal);
    },
  };
};

/**
 * Whether merge requests are at the tips of their branches. GitLab updates them shortly after a push, and when a branch
 * is set back it may keep the date of the merge request.
 */
const matchesBranchTips = (merges: readonly MergeRequestShape[], refs: readonly Source[]): boolean => {
  const tips = new Map<string, string>(
    refs.filter(({ ref }) => ref.kind === 'branch').map(({ ref, commit }) => [ref.name, commit]),
  );
  return merges.every(({ source_project_id: source, target_project_id: target, source_branch: branch, sha }) => {
    // A merge request keeps its head when its branch is deleted.
    return source !== target || (tips.get(branch) ?? sha) === sha;
  });
};

const memoizeLast = <A, R>(compute: (from: A) => R): ((from: A) => R) => {
  let last: { readonly from: A; readonly made: R } | undefined;
  return (from) => {
    if (last?.from !== from) last = { from, made: compute(from) };
    return last.made;
  };
};

const isSame = (a: Reading<Source>, b: Reading<Source> | undefined): boolean =>
  a === b || (a.complete && b?.complete === true && a.mark !== undefined && a.mark === b.mark);
