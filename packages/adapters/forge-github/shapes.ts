import { cutCheckText } from '@eph/contract';
import { z } from 'zod';
import { person } from '../forge-http/github-api.ts';

/** Only the fields that are used. */

const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

export const pullShape = z.object({
  number: z.int().positive(),
  state: z.enum(['open', 'closed']),
  title: z.string(),
  draft: z.boolean().default(false),
  user: person,
  labels: z.array(z.object({ name: z.string() })),
  head: z.object({
    ref: z.string(),
    sha,
    /** Null once the repository is deleted. */
    repo: z.object({ id: z.int(), full_name: z.string() }).nullable(),
  }),
  base: z.object({ ref: z.string(), repo: z.object({ id: z.int() }) }),
  html_url: z.string(),
  updated_at: z.string(),
});
export type PullShape = z.output<typeof pullShape>;

/** Only a single pull request has this count. */
export const wholePullShape = pullShape.extend({ changed_files: z.int() });

export const conversationShape = z.object({ comments: z.int() });

/** The count includes pull requests. */
export const repositoryShape = z.object({ open_issues_count: z.int() });

export const issueShape = z.object({ number: z.int(), pull_request: z.unknown().optional() });

export const eventShape = z.object({
  event: z.string(),
  id: z.int(),
  created_at: z.string(),
  label: z.object({ name: z.string() }).optional(),
});
export type EventShape = z.output<typeof eventShape>;

export const timelineEventShape = z.object({ event: z.string().default('') });

export const activityShape = z.object({ id: z.int(), ref: z.string(), after: sha, timestamp: z.string() });
export type ActivityShape = z.output<typeof activityShape>;

export const labelledShape = pullShape.pick({ labels: true });

const reported = z.string().nullish();

export const checkRunShape = z
  .object({
    id: z.int(),
    name: z.string(),
    status: z.string(),
    conclusion: z.string().nullable(),
    output: z.object({ summary: reported, text: reported }).nullish(),
  })
  // Cut here, because answers are cached.
  .transform(({ output, ...run }) => ({
    ...run,
    text: cutCheckText([output?.summary, output?.text].filter((part) => part).join('\n')),
  }));
export type CheckRunShape = z.output<typeof checkRunShape>;
export const checkRunsShape = z.object({ check_runs: z.array(checkRunShape) });

export const deploymentShape = z.object({
  id: z.int(),
  sha,
  environment: z.string(),
  /** An object, or its JSON text. */
  payload: z.unknown(),
  creator: person,
});
export type DeploymentShape = z.output<typeof deploymentShape>;

export const deploymentStatusShape = z.object({
  id: z.int(),
  state: z.string(),
  description: z.string(),
  environment_url: z.string().optional(),
});
export type DeploymentStatusShape = z.output<typeof deploymentStatusShape>;

export const appShape = z.object({ slug: z.string() });
export const userShape = z.object({ login: z.string() });
export const tokenShape = z.object({ token: z.string() });
export const installationShape = z.object({ id: z.int() });
