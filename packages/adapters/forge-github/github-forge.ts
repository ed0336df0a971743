import { completeReading, incompleteReading, markSources, type ProjectId, type Reading, type Source } from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import { createGitForge, type GitForgeOptions } from '../forge-git/git-forge.ts';
import { parseNumber } from '../forge-http/numbered-pulls.ts';
import { gitUrlOf } from './git-url.ts';
import { createGithubClient, type GithubClient } from './github-client.ts';
import { createGithubIdentity, type GithubIdentity, type GithubIdentityOptions } from './github-identity.ts';
import { createGithubPulls } from './github-pulls.ts';
import { createPullSources } from './pull-sources.ts';

export interface GithubForgeOptions extends GithubIdentityOptions, Pick<GitForgeOptions, 'folder' | 'environment'> {
  readonly project: ProjectId;
  readonly owner: string;
  readonly repository: string;
  /** Shared by all clients with the same credentials; created if absent. */
  readonly identity?: GithubIdentity;
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
  const { project, owner, repository, now } = options;
  const identity = options.identity ?? createGithubIdentity(options);
  const client = createGithubClient({ ...options, identity });
  const pullSources = createPullSources(project, client, now);
  const location = gitUrlOf(identity.baseUrl, owner, repository);
  const git = createGitForge({ ...options, location, authorization: () => client.authorizeGit() });
  let before: Reading<Source> | undefined;

  return {
    project,
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

    readFile: (commit, path, limitBytes, signal) => git.readFile(commit, path, limitBytes, signal),
    exportTree: (commit, folder, signal) => git.exportTree(commit, folder, signal),
    watch: (wake, signal) => git.watch(wake, signal),
    [Symbol.asyncDispose]: () => git[Symbol.asyncDispose](),
  };
};
