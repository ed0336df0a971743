import { z } from 'zod';
import { type CreateVerify, verifySignature, verifyToken } from './verification.ts';

export const webhookForges = ['gitea', 'github', 'gitlab'] as const;
export type WebhookForge = (typeof webhookForges)[number];

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

const named = z.looseObject({ full_name: z.string() });

const githubPayload = z.looseObject({
  repository: named.nullish(),
  // Events of an app's installation name several repositories.
  repositories: z.array(named).nullish(),
  repositories_added: z.array(named).nullish(),
  repositories_removed: z.array(named).nullish(),
});

/** Gitea has the payloads of GitHub. */
const readFullNames = (payload: unknown): readonly string[] | undefined => {
  const { data, success } = githubPayload.safeParse(payload);
  if (!success) return undefined;
  const { repository, repositories, repositories_added: added, repositories_removed: removed } = data;
  const all = [repository, repositories, added, removed].flatMap((one) => one ?? []);
  return [...new Set(all.map((one) => one.full_name))];
};

const gitlabPayload = z.looseObject({ project: z.looseObject({ path_with_namespace: z.string() }).nullish() });

const readPaths = (payload: unknown): readonly string[] | undefined => {
  const { data, success } = gitlabPayload.safeParse(payload);
  if (!success) return undefined;
  return data.project === null || data.project === undefined ? [] : [data.project.path_with_namespace];
};

/** Gitea also has the names of GitHub for these. */
const sharedEvents = ['push', 'create', 'delete', 'pull_request', 'issue_comment', 'status', 'repository'];
const giteaReviews = ['pull_request_approved', 'pull_request_rejected', 'pull_request_comment'];
const githubChecks = ['pull_request_review', 'check_run', 'check_suite'];
const githubSettings = ['label', 'member', 'public', 'installation', 'installation_repositories'];
const gitlabHooks = ['Push', 'Tag Push', 'Merge Request', 'Note', 'Pipeline', 'Member', 'System'];

export const dialects: Readonly<Record<WebhookForge, Dialect>> = {
  gitea: {
    credentialHeader: 'x-gitea-signature',
    createVerify: verifySignature(''),
    eventHeader: 'x-gitea-event',
    events: new Set([...sharedEvents, ...giteaReviews]),
    listEvents: new Set(['repository']),
    repositoriesIn: readFullNames,
  },
  github: {
    credentialHeader: 'x-hub-signature-256',
    createVerify: verifySignature('sha256='),
    eventHeader: 'x-github-event',
    events: new Set([...sharedEvents, ...githubChecks, ...githubSettings]),
    listEvents: new Set(['repository', 'public', 'installation', 'installation_repositories']),
    repositoriesIn: readFullNames,
  },
  gitlab: {
    credentialHeader: 'x-gitlab-token',
    createVerify: verifyToken,
    eventHeader: 'x-gitlab-event',
    events: new Set(gitlabHooks.map((name) => `${name} Hook`)),
    listEvents: new Set(['Project Hook']),
    repositoriesIn: readPaths,
  },
};
