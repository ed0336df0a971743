import { z } from 'zod';
import { type Listed, type ParseAnswer, parserOf } from '../forge-http/forge-http.ts';
import { parseDate } from '../forge-http/read-pages.ts';

/** Only the fields that are used. */

const person = z.object({ login: z.string() });

const branchEnd = z.object({
  /** The branch; empty for a pull request that was pushed to `refs/for/…`. */
  label: z.string(),
  /** The branch, or a replacement once it is deleted. */
  ref: z.string(),
  sha: z.string(),
  /** -1 once the repository is deleted. */
  repo_id: z.number(),
  repo: z.object({ full_name: z.string() }).nullish(),
});

const pullShape = z.object({
  number: z.int(),
  state: z.enum(['open', 'closed']),
  title: z.string(),
  draft: z.boolean(),
  user: person,
  labels: z.array(z.object({ id: z.int(), name: z.string() })).nullable(),
  head: branchEnd,
  base: branchEnd,
  html_url: z.string(),
  updated_at: z.string(),
  comments: z.int(),
  review_comments: z.int().default(0),
  /** Absent in some releases. */
  changed_files: z.int().optional(),
});
export interface PullShape extends z.output<typeof pullShape> {
  /** Time of the answer by the forge's clock; NaN if unknown. */
  readonly readAtMs: number;
}

export const parsePull: ParseAnswer<PullShape> = (body, headers) => ({
  ...pullShape.parse(body),
  readAtMs: parseDate(headers),
});

/** Gitea returns `null` for some empty lists. */
const pullsShape = pullShape.array().nullable();

export const openPulls: Listed<PullShape> = {
  what: 'pull requests',
  parse: (body, headers) => (pullsShape.parse(body) ?? []).map((pull) => ({ ...pull, readAtMs: parseDate(headers) })),
  keyOf: ({ number }) => number,
};

const repositoryShape = z.object({
  has_pull_requests: z.boolean(),
  empty: z.boolean(),
  mirror: z.boolean(),
  open_pr_counter: z.int(),
});
export type RepositoryShape = z.output<typeof repositoryShape>;
export const parseRepository = parserOf(repositoryShape);

export const timelineShape = z.object({
  id: z.int(),
  type: z.string(),
  body: z.string(),
  created_at: z.string(),
  label: z.object({ name: z.string() }).nullish(),
});
export type TimelineShape = z.output<typeof timelineShape>;

export const parseLogin = parserOf(person.transform(({ login }) => login));

export const labelShape = z.object({ id: z.int(), name: z.string() });
