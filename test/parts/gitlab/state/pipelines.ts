import { levelOf } from './access.ts';
import {
  accessLevels,
  type CommitStatus,
  type JobStatus,
  type MergeRequest,
  type Pipeline,
  type Project,
  type User,
} from './entities.ts';
import { forbidden, invalid, notFound } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** The statuses that count: the newest of each name. */
export const latestStatuses = (statuses: readonly CommitStatus[]): readonly CommitStatus[] => {
  const latest = new Map<string, CommitStatus>();
  for (const status of statuses) latest.set(`${status.pipeline.id} ${status.name}`, status);
  return [...latest.values()];
};

/** Of a pipeline that has no jobs of its own. */
export const pipelineStatus = (project: Project, pipeline: Pipeline): JobStatus => {
  const all = latestStatuses(project.statuses.filter((status) => status.pipeline === pipeline)).map(({ status }) => status);
  const worst = (['failed', 'canceled', 'running', 'pending', 'success'] as const).find((status) => all.includes(status));
  return worst ?? 'skipped';
};

/** The pipeline that a merge request waits for: the newest of its head, in whichever project it ran. */
export const headPipelineOf = (merge: MergeRequest): { readonly project: Project; readonly pipeline: Pipeline } | undefined => {
  for (const project of new Set([merge.target, merge.source])) {
    const pipeline = project?.pipelines.findLast(
      ({ sha, ref }) => sha === merge.sha && [merge.sourceBranch, `refs/merge-requests/${merge.iid}/head`].includes(ref),
    );
    if (project !== undefined && pipeline !== undefined) return { project, pipeline };
  }
  return undefined;
};

const addPipeline = (
  state: GitlabState,
  project: Project,
  { sha, ref, user }: Pick<Pipeline, 'sha' | 'ref' | 'user'>,
): Pipeline => {
  const now = state.now();
  const pipeline = {
    id: state.nextId(),
    iid: project.pipelines.length + 1,
    sha,
    ref,
    user,
    createdAt: now,
    updatedAt: now,
  };
  project.pipelines.push(pipeline);
  state.touch();
  return pipeline;
};

export interface NewStatus {
  readonly sha: string;
  readonly state: JobStatus;
  readonly name: string;
  readonly ref: string | undefined;
  readonly pipelineId: number | undefined;
  readonly targetUrl: string | undefined;
  readonly description: string | undefined;
  readonly coverage: number | undefined;
}

/** https://docs.gitlab.com/api/commits/#set-the-pipeline-status-of-a-commit */
export const setCommitStatus = async (
  state: GitlabState,
  actor: User,
  project: Project,
  wanted: NewStatus,
): Promise<CommitStatus> => {
  const repository = await state.repositoryOf(project);
  const [commit] = await repository.readCommits([(await repository.resolve(wanted.sha)) ?? wanted.sha]);
  if (commit === undefined) throw notFound('Commit');
  const known = project.pipelines.findLast(
    ({ id, sha, ref }) =>
      sha === commit.sha &&
      (wanted.ref === undefined || ref === wanted.ref) &&
      (wanted.pipelineId === undefined || id === wanted.pipelineId),
  );
  const ref = wanted.ref ?? known?.ref ?? (await repository.branchesWith(commit.sha))[0];
  if (ref === undefined) throw notFound('References for commit');
  if (wanted.pipelineId !== undefined && known === undefined) throw notFound('Pipeline for pipeline_id, sha and ref');
  refuseProtected(actor, project, ref);
  refuseLong(wanted);
  const pipeline = known ?? addPipeline(state, project, { sha: commit.sha, ref, user: actor });
  const status = continued(project, pipeline, actor, wanted.name) ?? begun(state, pipeline, actor, wanted.name);
  transition(state, status, wanted.state);
  Object.assign(status, {
    description: wanted.description ?? status.description,
    targetUrl: wanted.targetUrl ?? status.targetUrl,
    coverage: wanted.coverage ?? status.coverage,
  });
  if (!project.statuses.includes(status)) project.statuses.push(status);
  pipeline.updatedAt = state.now();
  state.touch();
  return status;
};

/** Users who may not push to a protected branch may not set its statuses either. */
const refuseProtected = (actor: User, project: Project, ref: string): void => {
  if (ref === project.defaultBranch && levelOf(actor, project) < accessLevels.maintainer) throw forbidden();
};

const refuseLong = ({ description, targetUrl, name }: NewStatus): void => {
  const tooLong = ['is too long (maximum is 255 characters)'];
  if ((description?.length ?? 0) > 255) throw invalid({ description: tooLong });
  if ((targetUrl?.length ?? 0) > 255) throw invalid({ target_url: tooLong });
  if (name.length > 255) throw invalid({ name: tooLong });
};

/** A status can be updated only while it is unfinished, and only by the user who created it. */
const continued = (project: Project, pipeline: Pipeline, actor: User, name: string): CommitStatus | undefined =>
  project.statuses.findLast(
    (status) =>
      status.pipeline === pipeline &&
      status.name === name &&
      status.author === actor &&
      ['pending', 'running'].includes(status.status),
  );

const begun = (state: GitlabState, pipeline: Pipeline, author: User, name: string): CommitStatus => ({
  id: state.nextId(),
  pipeline,
  name,
  author,
  createdAt: state.now(),
  status: 'skipped',
  description: null,
  targetUrl: null,
  coverage: null,
  startedAt: undefined,
  finishedAt: undefined,
});

const events = {
  pending: 'enqueue',
  running: 'run',
  success: 'success',
  failed: 'drop',
  canceled: 'cancel',
  skipped: 'skip',
} as const;

const transition = (state: GitlabState, status: CommitStatus, to: JobStatus): void => {
  const from = status.status;
  const isRepeated = from === to && to !== 'skipped';
  if (isRepeated || (from === 'running' && to === 'pending')) {
    const event = events[to];
    throw invalid(`Cannot transition status via :${event} from :${from} (Reason(s): Status cannot transition via "${event}")`);
  }
  status.status = to;
  if (to === 'running') status.startedAt = state.now();
  if (['success', 'failed', 'canceled', 'skipped'].includes(to)) status.finishedAt = state.now();
};
