import { z } from 'zod';
import { type CreateVerify, verifySignature, verifyToken } from './verification.ts';

export const webhookForges = ['gitea', 'github', 'gitlab'] as const;
export type WebhookForge = (typeof webhookForges)[number];

/** How one kind of forge tells that something happened. */
export interface Dialect {
  readonly credentialHeader: string;
  readonly createVerify: CreateVerify;
  readonly eventHeader: string;
  /** What may change which environments are wanted or what they wait for. Everything else is acknowledged, and that is all. */
  readonly events: ReadonlySet<string>;
  /** Full names of the repositories it happened in; undefined when a body is not what this forge sends. */
  readonly repositoriesIn: (payload: unknown) => readonly string[] | undefined;
}

const named = z.looseObject({ full_name: z.string() });

const githubPayload = z.looseObject({
  repository: named.nullish(),
  // An app was installed or removed: there is no one repository.
  repositories: z.array(named).nullish(),
  repositories_added: z.array(named).nullish(),
  repositories_removed: z.array(named).nullish(),
});

/** Gitea took its payloads from GitHub. */
const readFullNames = (payload: unknown): readonly string[] | undefined => {
  const { data, success } = githubPayload.safeParse(payload);
  if (!success) return undefined;
  const { repository, repositories, repositories_added, repositories_removed } = data;
  const all = [
    ...[repository ?? []].flat(),
    ...(repositories ?? []),
    ...(repositories_added ?? []),
    ...(repositories_removed ?? []),
  ];
  return [...new Set(all.map((one) => one.full_name))];
};

const gitlabPayload = z.looseObject({ project: z.looseObject({ path_with_namespace: z.string() }).nullish() });

const readPaths = (payload: unknown): readonly string[] | undefined => {
  const { data, success } = gitlabPayload.safeParse(payload);
  if (!success) return undefined;
  return data.project === null || data.project === undefined ? [] : [data.project.path_with_namespace];
};

export const dialects: Readonly<Record<WebhookForge, Dialect>> = {
  gitea: {
    credentialHeader: 'x-gitea-signature',
    createVerify: verifySignature(''),
    eventHeader: 'x-gitea-event',
    events: new Set([
      'push',
      'create',
      'delete',
      'pull_request',
      'pull_request_approved',
      'pull_request_rejected',
      'pull_request_comment',
      'issue_comment',
      'status',
      'repository',
    ]),
    repositoriesIn: readFullNames,
  },
  github: {
    credentialHeader: 'x-hub-signature-256',
    createVerify: verifySignature('sha256='),
    eventHeader: 'x-github-event',
    events: new Set([
      'push',
      'create',
      'delete',
      'pull_request',
      'pull_request_review',
      'issue_comment',
      'check_run',
      'check_suite',
      'status',
      'label',
      'member',
      'repository',
      'public',
      'installation',
      'installation_repositories',
    ]),
    repositoriesIn: readFullNames,
  },
  gitlab: {
    credentialHeader: 'x-gitlab-token',
    createVerify: verifyToken,
    eventHeader: 'x-gitlab-event',
    events: new Set([
      'Push Hook',
      'Tag Push Hook',
      'Merge Request Hook',
      'Note Hook',
      'Pipeline Hook',
      'Member Hook',
      'System Hook',
    ]),
    repositoriesIn: readPaths,
  },
};
