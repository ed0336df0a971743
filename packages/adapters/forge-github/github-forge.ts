import {
  type CommitSha,
  completeReading,
  EphError,
  incompleteReading,
  markSources,
  type ProjectId,
  type Reading,
  type Source,
} from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import type { Pulls } from '@eph/engine/source/pulls';
import { defaultExportLimits, type ExportLimits, exportTree } from '../forge-git/tree-export.ts';
import { readFileAt } from '../forge-git/trees.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { createApiObjects, createObjectCache } from './api-objects.ts';
import { createArchiveSource } from './archive-source.ts';
import { createGithubClient, type GithubClient } from './github-client.ts';
import { createGithubIdentity, type GithubIdentity, type GithubIdentityOptions } from './github-identity.ts';
import { createGithubPulls } from './github-pulls.ts';
import { parseNumber } from './pull-source.ts';
import { createPullSources } from './pull-sources.ts';
import { createRefSources } from './ref-sources.ts';

export interface GithubForgeOptions extends GithubIdentityOptions {
  readonly project: ProjectId;
  readonly owner: string;
  readonly repository: string;
  /** Also list branches and tags; each list costs another request per pass. */
  readonly refs?: boolean;
  /** Shared by all clients with the same credentials; created if absent. */
  readonly identity?: GithubIdentity;
  readonly exportLimits?: ExportLimits;
}

export interface GithubForge extends Forge, AsyncDisposable {
  readonly pulls: Pulls;
  readonly client: GithubClient;
  readonly identity: GithubIdentity;
}

/**
 * A repository of GitHub, read through the API alone. An unchanged pass is one conditional request per hundred pull
 * requests, which does not count against the rate limit. Trees are exported with the help of an archive.
 */
export const createGithubForge = (options: GithubForgeOptions): GithubForge => {
  const { project, refs: withRefs = false, exportLimits = defaultExportLimits } = options;
  const identity = options.identity ?? createGithubIdentity(options);
  const client = createGithubClient({ ...options, identity });
  const closing = new AbortController();
  const pullSources = createPullSources(project, client, options.now);
  const refSources = createRefSources(project, client);
  const cache = createObjectCache();
  const exporting = new Set<string>();
  let reading: Reading<Source> | undefined;

  const untilClosed = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal]);

  const exportOnce = async (commit: CommitSha, folder: string, signal: AbortSignal): Promise<void> => {
    const objects = createApiObjects(client, cache);
    const file = `${folder}.archive`;
    await using source = createArchiveSource({ client, objects, commit, file, limits: exportLimits });
    await objects.readTreesOf(commit, signal);
    await exportTree(source, commit, folder, exportLimits, signal);
  };

  return {
    project,
    client,
    identity,
    pulls: createGithubPulls(client, options.now),

    async sources(signal) {
      const listings = await Promise.all([
        pullSources.list(untilClosed(signal)),
        ...(withRefs ? [refSources.list('branch', untilClosed(signal)), refSources.list('tag', untilClosed(signal))] : []),
      ]);
      // The repository may belong to another installation by now.
      if (listings.some((listing) => !listing.complete && listing.refusal.meaning === 'gone'))
        identity.forget(options.owner, options.repository);
      reading = toReading(listings, reading);
      return reading;
    },

    async source(ref, signal) {
      if (ref.kind !== 'pr') return await refSources.read(ref, untilClosed(signal));
      const number = parseNumber(ref);
      return number === undefined ? { state: 'gone' } : await pullSources.read(number, untilClosed(signal));
    },

    readFile: async (commit, path, limitBytes, signal) =>
      await readFileAt(createApiObjects(client, cache), commit, path, limitBytes, untilClosed(signal)),

    async exportTree(commit, folder, signal) {
      if (exporting.has(folder)) throw new EphError('checkout.failed', `${folder} is being written already.`);
      exporting.add(folder);
      try {
        await exportOnce(commit, folder, untilClosed(signal));
      } finally {
        exporting.delete(folder);
      }
    },

    /** Nothing to watch: passes and webhooks find changes. */
    watch: () => undefined,

    [Symbol.asyncDispose]() {
      closing.abort(new EphError('forge.unreachable', 'The forge was closed.'));
      return Promise.resolve();
    },
  };
};

/** Returns the previous reading if nothing changed. */
const toReading = (listings: readonly Listing<Source>[], before: Reading<Source> | undefined): Reading<Source> => {
  const items = listings.flatMap((listing) => listing.items);
  const faults = listings.flatMap((listing) => (listing.complete ? [] : [listing.refusal.fault]));
  // One outage is reported as one fault.
  const messages = faults.map(({ message }) => message);
  if (faults.length > 0)
    return incompleteReading(items, ...faults.filter(({ message }, index) => messages.indexOf(message) === index));
  const isSame = before?.items.length === items.length && before.items.every((source, index) => source === items[index]);
  return isSame && before.complete ? before : completeReading(items, markSources(items));
};
