import { z } from 'zod';

/** Only the fields that are used. */

/** Includes the path of the project, such as `group/project!1`. */
export const referencesShape = z.object({ full: z.string() });

const person = z.object({ id: z.int(), username: z.string() });

export const mergeRequestShape = z.object({
  iid: z.int(),
  state: z.string(),
  title: z.string(),
  draft: z.boolean(),
  author: person,
  labels: z.array(z.string()),
  source_branch: z.string(),
  target_branch: z.string(),
  /** Null once the fork is deleted. */
  source_project_id: z.int().nullable(),
  target_project_id: z.int(),
  /** The head; null until GitLab has processed it. */
  sha: z.string().nullable(),
  web_url: z.string(),
  references: referencesShape.optional(),
  updated_at: z.string(),
  user_notes_count: z.int(),
});
export type MergeRequestShape = z.output<typeof mergeRequestShape>;

/** Only for a single merge request. A number as text, such as `1000+` above GitLab's limit. */
export const comparedShape = z.object({ sha: z.string().nullable(), changes_count: z.string().nullable() });

export const accountShape = z.object({ id: z.int() });

/** One per push. */
export const versionShape = z.object({ id: z.int(), head_commit_sha: z.string(), created_at: z.string() });
export type VersionShape = z.output<typeof versionShape>;

export const noteShape = z.object({
  id: z.int(),
  body: z.string(),
  author: person,
  created_at: z.string(),
  system: z.boolean(),
});
export type NoteShape = z.output<typeof noteShape>;

export const memberShape = z.object({ access_level: z.int(), state: z.string() });

export const diffShape = z.object({ old_path: z.string(), new_path: z.string() });

export const labelEventShape = z.object({
  id: z.int(),
  created_at: z.string(),
  action: z.enum(['add', 'remove']),
  /** Null once the label is deleted. */
  label: z.object({ name: z.string() }).nullable(),
});

export const statusShape = z.object({
  id: z.int(),
  name: z.string(),
  status: z.string(),
  ref: z.string().nullable(),
  description: z.string().nullable(),
  target_url: z.string().nullable(),
  author: z.object({ id: z.int() }).nullable(),
});
export type StatusShape = z.output<typeof statusShape>;

export const environmentShape = z.object({
  id: z.int(),
  name: z.string(),
  state: z.string(),
  external_url: z.string().nullable(),
});
export type EnvironmentShape = z.output<typeof environmentShape>;

export const deploymentShape = z.object({ id: z.int(), sha: z.string(), status: z.string() });
export type DeploymentShape = z.output<typeof deploymentShape>;
