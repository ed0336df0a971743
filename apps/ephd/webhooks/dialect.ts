import { z } from 'zod';
import type { CreateVerify } from './verification.ts';

/** How one kind of forge sends webhooks. */
export interface Dialect {
  readonly credentialHeader: string;
  readonly createVerify: CreateVerify;
  readonly eventHeader: string;
  /** Events that may affect environments. All others are acknowledged and ignored. */
  readonly events: ReadonlySet<string>;
  /** Those after which an organisation may have other repositories. */
  readonly listEvents: ReadonlySet<string>;
  /** Full names of the affected repositories; undefined when the body is not one of this forge. */
  readonly repositoriesIn: (payload: unknown) => readonly string[] | undefined;
}

/** Of GitHub; Gitea has the same names for these. */
export const githubEvents = ['push', 'create', 'delete', 'pull_request', 'issue_comment', 'status', 'repository'];

const named = z.looseObject({ full_name: z.string() });

const githubPayload = z.looseObject({
  repository: named.nullish(),
  // Events of an app's installation name several repositories.
  repositories: z.array(named).nullish(),
  repositories_added: z.array(named).nullish(),
  repositories_removed: z.array(named).nullish(),
});

/** Gitea has the payloads of GitHub. */
export const readFullNames = (payload: unknown): readonly string[] | undefined => {
  const { data, success } = githubPayload.safeParse(payload);
  if (!success) return undefined;
  const { repository, repositories, repositories_added: added, repositories_removed: removed } = data;
  const all = [repository, repositories, added, removed].flatMap((one) => one ?? []);
  return [...new Set(all.map((one) => one.full_name))];
};
