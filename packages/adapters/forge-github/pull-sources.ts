import type { ProjectId, Source } from '@eph/contract';
import type { SourceAnswer } from '@eph/engine/source/forge';
import { z } from 'zod';
import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { createDropCheck } from '../forge-http/drop-check.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GithubClient, ListQuery } from './github-client.ts';
import { toSource } from './pull-source.ts';
import { checkGone, readRepository } from './repository.ts';
import { issueShape, pullShape } from './shapes.ts';

export interface PullSources {
  list(signal: AbortSignal): Promise<Listing<Source>>;
  read(number: number, signal: AbortSignal): Promise<SourceAnswer>;
}

const issues: ListQuery<z.output<typeof issueShape>> = {
  route: 'GET /repos/{owner}/{repo}/issues',
  parameters: { state: 'open' },
  parse: (body) => z.array(issueShape).parse(body),
  keyOf: ({ number }) => number,
  what: 'issues',
};

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
  const openPulls: ListQuery<Source> = {
    route: 'GET /repos/{owner}/{repo}/pulls',
    parameters: { state: 'open', sort: 'created', direction: 'desc' },
    parse: (body) =>
      z
        .array(pullShape)
        .parse(body)
        .map((pull) => toSource(project, pull)),
    keyOf: ({ ref }) => ref.name,
    what: 'pull requests',
  };

  const onePull = (number: number) => ({
    route: 'GET /repos/{owner}/{repo}/pulls/{pull_number}',
    parameters: { pull_number: number },
    parse: parsePull,
  });
  const parsePull = (body: unknown): Source | 'closed' => {
    const pull = pullShape.parse(body);
    return pull.state === 'closed' ? 'closed' : toSource(project, pull);
  };

  /** Pull requests are issues: without open issues there is none, otherwise the list of issues is checked. */
  const recount = async (signal: AbortSignal): Promise<Answer<number>> => {
    const repository = await readRepository(client, signal);
    if (!repository.ok) return repository;
    if (repository.value.open_issues_count === 0) return { ok: true, value: 0 };
    const listing = await client.list(issues, { signal, fresh: true });
    if (!listing.complete) return listing.refusal;
    if (listing.items.length === 0) return invalidAnswer(`${client.shown} counts open issues but lists none.`);
    return { ok: true, value: listing.items.filter(({ pull_request: pull }) => pull !== undefined).length };
  };

  return {
    async list(signal) {
      const listing = await client.list(openPulls, { signal });
      return await checkDrop({ ...listing, items: listing.items.map(markRecent) }, () => recount(signal));
    },

    async read(number, signal) {
      const answer = await client.read(onePull(number), { signal, fresh: true });
      if (!answer.ok) return await checkGone(client, answer, signal);
      return answer.value === 'closed' ? { state: 'gone' } : { state: 'present', source: markRecent(answer.value) };
    },
  };
};
