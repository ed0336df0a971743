import { completeReading, type Failure, failure, incompleteReading, markSources } from '@eph/contract';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import { createGitForge, type GitForgeOptions } from '../forge-git/git-forge.ts';
import type { Answer } from '../forge-http/answer.ts';
import { createCachedListing } from '../forge-http/cached-listing.ts';
import { createDropCheck } from '../forge-http/drop-check.ts';
import { isGone } from '../forge-http/is-gone.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { SharedChanges } from '../forge-http/shared-changes.ts';
import { createGiteaClient, type GiteaClient, type GiteaClientOptions } from './gitea-client.ts';
import { createGiteaPulls } from './gitea-pulls.ts';
import { toSource } from './pull-source.ts';
import { readPull, readRepository } from './repository.ts';
import { openPulls, type PullShape } from './shapes.ts';

export interface GiteaForgeOptions extends GiteaClientOptions, Pick<GitForgeOptions, 'project' | 'folder' | 'environment'> {
  /** With it, an unchanged pass is one request for all repositories of the owner. */
  readonly shared?: SharedChanges | undefined;
}

export interface GiteaForge extends Forge, AsyncDisposable {
  readonly pulls: Pulls;
  readonly client: GiteaClient;
}

/**
 * A repository of Gitea or Forgejo. Branches, tags and files come from Git, which lists them completely in one exchange;
 * pull requests come from the API. Its lists have no entity tags: without shared changes, an unchanged pass costs one
 * request per page.
 */
export const createGiteaForge = (options: GiteaForgeOptions): GiteaForge => {
  const { project } = options;
  const client = createGiteaClient(options);
  const git = createGitForge({ ...options, location: client.location });
  const checkDrop = createDropCheck(`${openPulls.what} of ${client.shown}`);

  const countOpen = async (signal: AbortSignal): Promise<Answer<number>> => {
    const answer = await readRepository(client, signal);
    return answer.ok ? { ok: true, value: answer.value.open_pr_counter } : answer;
  };

  /** A missing list is empty only if the repository cannot have pull requests. */
  const explainMissing = async (listing: Listing<PullShape>, signal: AbortSignal): Promise<Listing<PullShape>> => {
    if (listing.complete || listing.refusal.meaning !== 'gone') return listing;
    const repository = await readRepository(client, signal);
    if (!repository.ok) return listing;
    const { has_pull_requests: isAllowed, empty, mirror } = repository.value;
    return isAllowed && !empty && !mirror ? listing : { complete: true, items: [] };
  };

  const readPulls = async (signal: AbortSignal): Promise<Listing<PullShape>> => {
    const listing = await client.list('/pulls?state=open&sort=oldest', openPulls, signal);
    return await explainMissing(await checkDrop(listing, () => countOpen(signal)), signal);
  };

  const pulls = createCachedListing({
    read: readPulls,
    shared: options.shared,
    path: `${options.owner}/${options.repository}`,
    pathOf: ({ base }) => base.repo?.full_name,
    hasCommit: (pull) => toSource(project, pull) !== undefined,
    now: options.now,
  });

  const listPulls = async (signal: AbortSignal, asOf?: number): Promise<Listing<PullShape>> => {
    const cached = asOf === undefined ? undefined : await pulls.readUnchanged(asOf, signal);
    return cached ?? (await pulls.read(signal));
  };

  const readPullSource = async (number: number, signal: AbortSignal): Promise<SourceAnswer> => {
    const answer = await readPull(client, number, signal);
    if (!answer.ok) return (await isGone(client, answer, signal)) ? { state: 'gone' } : { state: 'unknown', fault: answer.fault };
    if (answer.value.state === 'closed') return { state: 'gone' };
    const source = toSource(project, answer.value);
    return source === undefined ? { state: 'unknown', fault: withoutCommit(answer.value) } : { state: 'present', source };
  };

  const withoutCommit = ({ number }: PullShape) =>
    failure('forge.incomplete', `The commit of pull request ${number} of ${client.shown} is not known.`);

  return {
    ...git,
    client,
    pulls: createGiteaPulls(client),

    async sources(signal, asOf) {
      const [refs, listing] = await Promise.all([git.sources(signal), listPulls(signal, asOf)]);
      const tips = new Map(refs.items.filter(({ ref }) => ref.kind === 'branch').map(({ ref, commit }) => [ref.name, commit]));
      const read = listing.items.map((pull) => ({ pull, source: toSource(project, pull, tips) }));
      const sources = read.flatMap(({ source }) => source ?? []);
      const faults = reportOutageOnce([
        ...refs.faults,
        ...(listing.complete ? [] : [listing.refusal.fault]),
        ...read.flatMap(({ pull, source }) => (source === undefined ? [withoutCommit(pull)] : [])),
      ]);
      const items = [...refs.items, ...sources];
      return refs.complete && faults.length === 0
        ? completeReading(items, markSources(items))
        : incompleteReading(items, ...faults);
    },

    async source(ref, signal) {
      if (ref.kind !== 'pr') return await git.source(ref, signal);
      const number = parseNumber(ref);
      return number === undefined ? { state: 'gone' } : await readPullSource(number, signal);
    },
  };
};

/** Without an answer both Git and the API fail; that is one fault, not two. */
const reportOutageOnce = (faults: readonly Failure[]): readonly Failure[] => {
  const isOutage = ({ code }: Failure): boolean => code === 'forge.unreachable';
  const last = faults.findLast(isOutage);
  return faults.filter((fault) => !isOutage(fault) || fault === last);
};
