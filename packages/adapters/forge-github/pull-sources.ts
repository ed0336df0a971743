import type { ProjectId, Source } from '@eph/contract';
import type { SourceAnswer } from '@eph/engine/source/forge';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { createDropCheck } from '../forge-http/drop-check.ts';
import { listBy, parserOf } from '../forge-http/forge-http.ts';
import { isGone } from '../forge-http/is-gone.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient } from './github-client.ts';
import { toSource } from './pull-source.ts';
import { issueShape, pullShape, repositoryShape } from './shapes.ts';

export interface PullSources {
  list(signal: AbortSignal): Promise<Listing<Source>>;
  read(number: number, signal: AbortSignal): Promise<SourceAnswer>;
}

const issues = listBy('issues', issueShape, ({ number }) => number);
const parseRepository = parserOf(repositoryShape);

/** How long GitHub may miss another change of the same second. */
const settlingMs = 5_000;

export const createPullSources = (project: ProjectId, client: GithubClient, now: () => number): PullSources => {
  const checkDrop = createDropCheck('pull requests');
  const recent = new WeakMap<Source, Source>();

  /**
   * Times have whole seconds, so a comment or review in the same second may go unnoticed. A recent change gets a marker
   * that disappears later, which counts as one more change.
   */
  const markRecent = (source: Source): Source => {
    const { pull } = source;
    if (pull === undefined || now() - Date.parse(pull.touched) >= settlingMs) return source;
    const known = recent.get(source) ?? { ...source, pull: { ...pull, touched: `${pull.touched} just now` } };
    recent.set(source, known);
    return known;
  };

  // Newest first, so that a full page changes with every addition.
  const path = '/pulls?state=open&sort=created&direction=desc';
  const toOwnSource = pullShape.transform((pull) => toSource(project, pull));
  const openPulls = listBy('pull requests', toOwnSource, ({ ref }) => ref.name);
  const parsePull = parserOf(
    pullShape.transform((pull) => (pull.state === 'closed' ? ('closed' as const) : toSource(project, pull))),
  );

  /** Pull requests are issues: without open issues there is none, otherwise the list of issues is checked. */
  const recount = async (signal: AbortSignal): Promise<Answer<number>> => {
    const repository = await client.read('', parseRepository, signal);
    if (!repository.ok) return repository;
    if (repository.value.open_issues_count === 0) return { ok: true, value: 0 };
    const listing = await client.list('/issues?state=open', issues, signal);
    if (!listing.complete) return listing.refusal;
    if (listing.items.length === 0) return invalidAnswer(`${client.shown} counts open issues but lists none.`);
    return { ok: true, value: listing.items.filter(({ pull_request: pull }) => pull !== undefined).length };
  };

  return {
    async list(signal) {
      const listing = await client.list(path, openPulls, signal);
      return await checkDrop({ ...listing, items: listing.items.map(markRecent) }, () => recount(signal));
    },

    async read(number, signal) {
      const answer = await client.read(`/pulls/${number}`, parsePull, signal);
      if (!answer.ok)
        return (await isGone(client, answer, signal)) ? { state: 'gone' } : { state: 'unknown', fault: answer.fault };
      return answer.value === 'closed' ? { state: 'gone' } : { state: 'present', source: markRecent(answer.value) };
    },
  };
};
