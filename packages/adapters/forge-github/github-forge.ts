import { completeReading, incompleteReading, markSources, type Reading, type Source } from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import { createGitForge, type GitForgeOptions } from '../forge-git/git-forge.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { gitUrlOf } from './git-url.ts';
import { createGithubClient, type GithubClient, type GithubClientOptions } from './github-client.ts';
import { createGithubPulls } from './github-pulls.ts';
import { createPullSources } from './pull-sources.ts';

export interface GithubForgeOptions extends GithubClientOptions, Pick<GitForgeOptions, 'project' | 'folder' | 'environment'> {
  readonly repository: string;
}

export interface GithubForge extends Forge, AsyncDisposable {
  readonly pulls: Pulls;
  readonly client: GithubClient;
}

/**
 * A repository of GitHub. Branches, tags and files come from Git, which lists them completely in one exchange outside of
 * the rate limit. Pull requests come from the API: an unchanged pass is one conditional request per hundred of them, which
 * does not count against the rate limit.
 */
export const createGithubForge = (options: GithubForgeOptions): GithubForge => {
  const { project, owner, repository, identity, now } = options;
  const client = createGithubClient(options);
  const pullSources = createPullSources(project, client, now);
  const location = gitUrlOf(identity.baseUrl, owner, repository);
  const git = createGitForge({ ...options, location, authorization: () => client.authorizeGit() });
  let before: Reading<Source> | undefined;

  return {
    ...git,
    client,
    pulls: createGithubPulls(client, now),

    async sources(signal) {
      // The API first: it replaces a revoked token, which Git then uses.
      const pulls = await pullSources.list(signal);
      // The repository may belong to another installation by now.
      if (!pulls.complete && pulls.refusal.meaning === 'gone') identity.forget(owner, repository);
      const refs = await git.sources(signal);
      const items = [...pulls.items, ...refs.items];
      // What the API reports usually affects Git too, and one fault is enough.
      if (!pulls.complete) return incompleteReading(items, pulls.refusal.fault);
      if (!refs.complete) return incompleteReading(items, ...refs.faults);
      const reading = completeReading(items, markSources(items));
      before = before !== undefined && before.mark === reading.mark ? before : reading;
      return before;
    },

    async source(ref, signal) {
      if (ref.kind !== 'pr') return await git.source(ref, signal);
      const number = parseNumber(ref);
      return number === undefined ? { state: 'gone' } : await pullSources.read(number, signal);
    },
  };
};
