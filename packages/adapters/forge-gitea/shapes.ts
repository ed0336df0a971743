import { z } from 'zod';

/** Only the fields that are used. */

const parserOf =
  <T>(shape: z.ZodType<T>) =>
  (body: unknown): T =>
    shape.parse(body);

/** For answers whose body is not needed. */
export const parseNothing = (): void => undefined;

/** Gitea returns `null` for some empty lists; a missing body is an error. */
export const listOf =
  <T>(shape: z.ZodType<T>) =>
  (body: unknown): readonly T[] =>
    z.array(shape).parse(body === null ? [] : body);

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

const stamped = (pull: z.output<typeof pullShape>, headers: Headers): PullShape => ({
  ...pull,
  readAtMs: Date.parse(headers.get('date') ?? ''),
});

export const parsePull = (body: unknown, headers: Headers): PullShape => stamped(pullShape.parse(body), headers);

export const parsePulls = (body: unknown, headers: Headers): readonly PullShape[] =>
  listOf(pullShape)(body).map((pull) => stamped(pull, headers));

const repositoryShape = z.object({
  has_pull_requests: z.boolean(),
  empty: z.boolean(),
  mirror: z.boolean(),
  open_pr_counter: z.int(),
});
export type RepositoryShape = z.output<typeof repositoryShape>;
export const parseRepository = parserOf(repositoryShape);

export const commentShape = z.object({ id: z.int(), user: person, body: z.string(), created_at: z.string() });
export type CommentShape = z.output<typeof commentShape>;

export const timelineShape = z.object({
  id: z.int(),
  type: z.string(),
  body: z.string(),
  created_at: z.string(),
  label: z.object({ name: z.string() }).nullish(),
});
export type TimelineShape = z.output<typeof timelineShape>;

export const reviewShape = z.object({
  id: z.int(),
  user: person.nullish(),
  state: z.string(),
  commit_id: z.string(),
  dismissed: z.boolean(),
  submitted_at: z.string(),
});
export type ReviewShape = z.output<typeof reviewShape>;

export const changedFileShape = z.object({
  filename: z.string(),
  previous_filename: z.string().optional(),
  /** Ends with the compared commit. */
  contents_url: z.string(),
});
export type ChangedFileShape = z.output<typeof changedFileShape>;

export const statusShape = z.object({
  context: z.string(),
  status: z.string(),
  description: z.string().nullable(),
  target_url: z.string().nullable(),
});
export type StatusShape = z.output<typeof statusShape>;

export const combinedStatusShape = z.object({ statuses: z.array(statusShape).nullable() });

export const parseAccount = parserOf(person);

export const parseCreatedComment = parserOf(z.object({ id: z.int() }));

export const parsePermission = parserOf(z.object({ permission: z.string() }));

export const labelShape = z.object({ id: z.int(), name: z.string() });
export const parseLabel = parserOf(labelShape);
