import type { CommitSha, EnvironmentId } from '@eph/contract';
import { z } from 'zod';
import { invalidAnswer, type Refusal, toError, unwrap } from '../forge-http/answer.ts';
import { listOf, parseNothing, parserOf } from '../forge-http/forge-http.ts';
import { loginOf } from '../forge-http/github-api.ts';
import { isGone } from '../forge-http/is-gone.ts';
import type { GithubClient } from './github-client.ts';
import { type DeploymentShape, type DeploymentStatusShape, deploymentShape, deploymentStatusShape } from './shapes.ts';

export interface WantedDeployment {
  readonly environment: EnvironmentId;
  /** GitHub's `environment`: one per project, so that GitHub's list stays short. */
  readonly group: string;
  readonly commit: CommitSha;
  readonly state: 'queued' | 'in_progress' | 'success' | 'failure';
  readonly description: string;
  readonly url: string;
}

export interface Deployments {
  /** Ensures one deployment at this commit with this state, and no other of the environment. */
  ensure(wanted: WantedDeployment, signal: AbortSignal): Promise<void>;
  remove(about: DeploymentsOf, signal: AbortSignal): Promise<void>;
  forget(environment: EnvironmentId): void;
}

export type DeploymentsOf = Pick<WantedDeployment, 'environment' | 'group'>;

/** The task of a deployment that was created without one. */
const defaultTask = 'deploy';

const deploymentsList = listOf('deployments', deploymentShape);
const parseDeployment = parserOf(deploymentShape);
const parseStatuses = parserOf(deploymentStatusShape.array());

/** Everything throws `EphError`. */
export const createDeployments = (client: GithubClient): Deployments => {
  /** Existing deployments; unknown for an environment that is not in it. */
  const known = new Map<EnvironmentId, ReadonlySet<number>>();

  const list = async (query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly DeploymentShape[]> => {
    const deployments = await client.list(`/deployments?${new URLSearchParams(query).toString()}`, deploymentsList, signal);
    if (!deployments.complete) throw toError(deployments.refusal);
    return deployments.items;
  };

  /** Deployments of an environment by our account, newest first. */
  const readOwn = async ({ environment, group }: DeploymentsOf, signal: AbortSignal): Promise<readonly DeploymentShape[]> => {
    const login = unwrap(await client.login(signal));
    const listed = await list({ environment: group }, signal);
    if (listed.length === 0) await confirmNone(environment, group, signal);
    const own = listed.filter(({ payload, creator }) => loginOf(creator) === login && environmentOf(payload) === environment);
    known.set(environment, new Set(own.map(({ id }) => id)));
    return own;
  };

  /**
   * An empty list may be incomplete, and GitHub has no count. So known deployments are read one by one; without any, a
   * second list with other parameters must be empty too.
   */
  const confirmNone = async (environment: EnvironmentId, group: string, signal: AbortSignal): Promise<void> => {
    const ids = known.get(environment);
    const isIncomplete =
      ids === undefined
        ? (await list({ environment: group, task: defaultTask }, signal)).length > 0
        : (await Promise.all([...ids].map((id) => exists(id, signal)))).includes(true);
    if (isIncomplete) throw toError(invalidAnswer(`${client.shown} does not list the deployments to ${group}.`));
  };

  const exists = async (id: number, signal: AbortSignal): Promise<boolean> => {
    const answer = await client.read(`/deployments/${id}`, parseNothing, signal);
    if (!answer.ok) await requireGone(answer, signal);
    return answer.ok;
  };

  const requireGone = async (refusal: Refusal, signal: AbortSignal): Promise<void> => {
    if (!(await isGone(client, refusal, signal))) throw toError(refusal);
  };

  const create = async ({ environment, group, commit }: WantedDeployment, signal: AbortSignal): Promise<number | undefined> => {
    const others = known.get(environment) ?? [];
    // Without an answer it is unknown whether it was created.
    known.delete(environment);
    const body = {
      ref: commit,
      environment: group,
      payload: { eph: environment },
      transient_environment: true,
      production_environment: false,
      // Do not merge, and do not wait for other checks.
      auto_merge: false,
      required_contexts: [],
    };
    const answer = await client.send('POST', '/deployments', body, parseDeployment, signal);
    if (answer.ok) {
      known.set(environment, new Set([...others, answer.value.id]));
      return answer.value.id;
    }
    // Nothing to do if the commit is gone.
    if (answer.fault.code === 'forge.refused' && !(await hasCommit(commit, signal))) return undefined;
    throw toError(answer);
  };

  const hasCommit = async (commit: CommitSha, signal: AbortSignal): Promise<boolean> => {
    const answer = await client.read(`/git/commits/${commit}`, parseNothing, signal);
    return answer.ok || answer.meaning !== 'gone';
  };

  const readState = async (id: number, signal: AbortSignal): Promise<DeploymentStatusShape | undefined> =>
    unwrap(await client.read(`/deployments/${id}/statuses?per_page=1`, parseStatuses, signal))[0];

  const writeStatus = async (id: number, parameters: object, signal: AbortSignal): Promise<void> => {
    // Otherwise every success would deactivate the deployments of all other pull requests.
    const body = { ...parameters, auto_inactive: false };
    unwrap(await client.send('POST', `/deployments/${id}/statuses`, body, parseNothing, signal));
  };

  const ensureState = async (id: number, { state, description, url }: WantedDeployment, signal: AbortSignal): Promise<void> => {
    const present = await readState(id, signal);
    const isEqual = present?.state === state && present.description === description && (present.environment_url ?? '') === url;
    if (!isEqual) await writeStatus(id, { state, description, ...(url === '' ? {} : { environment_url: url }) }, signal);
  };

  const removeOne = async (id: number, signal: AbortSignal): Promise<void> => {
    // GitHub does not delete active deployments.
    if ((await readState(id, signal))?.state !== 'inactive') await writeStatus(id, { state: 'inactive' }, signal);
    const answer = await client.send('DELETE', `/deployments/${id}`, undefined, parseNothing, signal);
    if (!answer.ok) await requireGone(answer, signal);
  };

  return {
    async ensure(wanted, signal) {
      const own = await readOwn(wanted, signal);
      const present = own.find(({ sha }) => sha === wanted.commit);
      const id = present?.id ?? (await create(wanted, signal));
      if (id !== undefined) await ensureState(id, wanted, signal);
      for (const other of own) if (other.id !== id) await removeOne(other.id, signal);
    },
    async remove(about, signal) {
      for (const { id } of await readOwn(about, signal)) await removeOne(id, signal);
    },
    forget: (environment) => void known.delete(environment),
  };
};

/** GitHub returns an object or its JSON text. */
const environmentOf = (payload: unknown): unknown => {
  if (typeof payload !== 'string') return payloadShape.safeParse(payload).data?.eph;
  try {
    return payloadShape.safeParse(JSON.parse(payload)).data?.eph;
  } catch {
    return undefined; // Somebody else's text.
  }
};

const payloadShape = z.object({ eph: z.string() });
