import {
  type Approval,
  type Check,
  type CommitSha,
  completeReading,
  cutCheckText,
  incompleteReading,
  type Reading,
} from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { z } from 'zod';
import { type Answer, invalidAnswer, toError, unwrap } from './answer.ts';
import { type CommandComment, filterWriters } from './commands.ts';
import { type ForgeApi, type Listed, listBy, listOf, parseNothing, parserOf } from './forge-http.ts';
import { isGone } from './is-gone.ts';
import type { CommentAccess } from './pull-comments.ts';
import type { Listing } from './read-pages.ts';
import { createWriteOnce, type ReporterOptions, reachable } from './report-queue.ts';

/** What GitHub and Gitea have in common: Gitea copies the API of GitHub. Shapes have only the fields that are used. */

/** Null for a deleted account. */
export const person = z.object({ login: z.string() }).nullish();

export const loginOf = (user: z.output<typeof person>): string => user?.login ?? 'ghost';

export const comments = listOf(
  'comments',
  z.object({ id: z.int(), user: person, body: z.string().default(''), created_at: z.string() }),
);
export type CommentShape = typeof comments extends Listed<infer T> ? T : never;

export const toCommandComment = ({ id, body, user, created_at: at }: CommentShape): CommandComment<string> => ({
  id,
  body,
  at,
  author: loginOf(user),
  person: user?.login,
});

const parseCreated = parserOf(z.object({ id: z.int() }));

export const accessComments = (
  client: ForgeApi,
  readLogin: (signal: AbortSignal) => Promise<Answer<string>>,
  readComments: (number: number, signal: AbortSignal) => Promise<Listing<CommentShape>>,
): CommentAccess => ({
  async readOwn(number, signal) {
    const login = unwrap(await readLogin(signal));
    const listing = await readComments(number, signal);
    if (!listing.complete) throw toError(listing.refusal);
    return listing.items.filter(({ user }) => user?.login === login);
  },
  create: async (number, body, signal) =>
    unwrap(await client.send('POST', `/issues/${number}/comments`, { body }, parseCreated, signal)).id,
  edit: (_number, id, body, signal) => client.send('PATCH', `/issues/comments/${id}`, { body }, parseNothing, signal),
});

const parseDefaultBranch = parserOf(z.object({ default_branch: z.string().min(1) }).transform((one) => one.default_branch));

/** Of the repository; GitLab has the same field. */
export const readDefaultBranch = (client: Pick<ForgeApi, 'read'>, signal: AbortSignal): Promise<Answer<string>> =>
  client.read('', parseDefaultBranch, signal);

export const acknowledge = (client: ForgeApi, id: string, signal: AbortSignal): Promise<Answer<unknown>> =>
  client.send('POST', `/issues/comments/${encodeURIComponent(id)}/reactions`, { content: 'eyes' }, parseNothing, signal);

const parsePermission = parserOf(z.object({ permission: z.string() }));
const writeLevels = new Set(['write', 'admin', 'owner']);
const knownLevels = new Set([...writeLevels, 'read', 'none']);

/** By name. The author association of comments is not enough: members of an organisation need not have access. */
export const readWriters = (
  client: ForgeApi,
  people: Iterable<string>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<string>>> =>
  filterWriters(people, async (name) => {
    const answer = await client.read(`/collaborators/${encodeURIComponent(name)}/permission`, parsePermission, signal);
    // A deleted account or a bot.
    if (!answer.ok) return (await isGone(client, answer, signal)) ? { ok: true, value: false } : answer;
    const { permission } = answer.value;
    return knownLevels.has(permission)
      ? { ok: true, value: writeLevels.has(permission) }
      : invalidAnswer(`${client.shown} returned an unknown permission.`);
  });

export const reviews = listOf(
  'reviews',
  z.object({
    id: z.int(),
    user: person,
    state: z.string(),
    commit_id: z.string().nullable(),
    dismissed: z.boolean().default(false),
    submitted_at: z.string().default(''),
  }),
);
export type ReviewShape = typeof reviews extends Listed<infer T> ? T : never;

/** GitHub replaces the verdict of a dismissed review. */
const verdicts = new Set(['APPROVED', 'CHANGES_REQUESTED', 'REQUEST_CHANGES', 'DISMISSED']);

/** As `Pulls.approvals`. The last verdict of each person counts, if it is an approval of exactly this commit. */
export const computeApprovals = async (
  client: ForgeApi,
  listing: Listing<ReviewShape>,
  commit: CommitSha,
  signal: AbortSignal,
): Promise<Reading<Approval>> => {
  if (!listing.complete) return incompleteReading([], listing.refusal.fault);
  const last = new Map<string, ReviewShape>();
  for (const review of listing.items) if (review.user && verdicts.has(review.state)) last.set(review.user.login, review);
  const approvals = [...last]
    .filter(([, { state, dismissed, commit_id: approved }]) => state === 'APPROVED' && !dismissed && approved === commit)
    .map(([author, { submitted_at: at }]) => ({ author, at }));
  const people = approvals.map(({ author }) => author);
  const writers = await readWriters(client, people, signal);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(approvals.filter(({ author }) => writers.value.has(author)));
};

export const changedFileShape = z.object({
  filename: z.string(),
  previous_filename: z.string().optional(),
  /** On Gitea it ends with the compared commit. */
  contents_url: z.string().default(''),
});
export type ChangedFileShape = z.output<typeof changedFileShape>;

export const changedFiles = listBy('changed files', changedFileShape, ({ filename }) => filename);

export const pathsOf = (files: readonly ChangedFileShape[]): readonly string[] => [
  ...new Set(files.flatMap(({ filename, previous_filename: before }) => (before ? [filename, before] : [filename]))),
];

const statusShape = z.object({
  context: z.string(),
  state: z.string().optional(),
  /** The state on Gitea. */
  status: z.string().optional(),
  description: z.string().nullable(),
  target_url: z.string().nullable(),
});
const combinedShape = z.object({ statuses: z.array(statusShape).nullable() });
export type StatusShape = z.output<typeof statusShape>;

const statuses: Listed<StatusShape> = {
  what: 'statuses',
  parse: (body) => combinedShape.parse(body).statuses ?? [],
  keyOf: ({ context }) => context,
};

/** The newest of each context. */
export const readStatuses = (client: ForgeApi, commit: CommitSha, signal: AbortSignal): Promise<Listing<StatusShape>> =>
  client.list(`/commits/${commit}/status`, statuses, signal);

const stateOf = ({ state, status }: StatusShape): string => state ?? status ?? 'pending';

const checkStates: Readonly<Record<string, Check['state']>> = { success: 'success', skipped: 'success', pending: 'pending' };

export const toCheck = (status: StatusShape): Check => ({
  name: status.context,
  state: checkStates[stateOf(status)] ?? 'failure',
  text: cutCheckText(status.description ?? ''),
});

/** Ensures one status per commit and environment. Throws `EphError`. `inactive` is the state of an environment that is not there. */
export const createStatusWriter = ({ client, computeStatus }: ReporterOptions<ForgeApi>, inactive: string) => {
  const writeOnce = createWriteOnce();
  return async (report: Report, signal: AbortSignal): Promise<void> => {
    const { commit, view } = report;
    const { state, description } = computeStatus(view);
    const wanted = { context: `eph/${view.name}`, state: state === 'inactive' ? inactive : state, description };
    const target = reachable.has(view.phase) ? view.url : '';
    await writeOnce(report, 'status', [commit, wanted, target], () => writeStatus(client, commit, wanted, target, signal));
  };
};

/** Writes only changes: GitHub allows a thousand statuses per commit and context. Does nothing if the commit is gone. */
const writeStatus = async (
  client: ForgeApi,
  commit: CommitSha,
  wanted: { readonly context: string; readonly state: string; readonly description: string },
  target: string,
  signal: AbortSignal,
): Promise<void> => {
  const listing = await readStatuses(client, commit, signal);
  if (!listing.complete) {
    if (await isGone(client, listing.refusal, signal)) return;
    throw toError(listing.refusal);
  }
  const present = listing.items.find(({ context }) => context === wanted.context);
  const isEqual =
    present !== undefined &&
    stateOf(present) === wanted.state &&
    (present.description ?? '') === wanted.description &&
    (present.target_url ?? '') === target;
  if (isEqual) return;
  const body = { ...wanted, ...(target === '' ? {} : { target_url: target }) };
  unwrap(await client.send('POST', `/statuses/${commit}`, body, parseNothing, signal));
};
