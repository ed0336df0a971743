import type { CommitSha } from '@eph/contract';
import { toError, unwrap } from '../forge-http/answer.ts';
import { listOf, parseNothing, parserOf } from '../forge-http/forge-http.ts';
import { isGone } from '../forge-http/is-gone.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { type DeploymentShape, deploymentShape, type EnvironmentShape, environmentShape } from './shapes.ts';

const environments = listOf('environments', environmentShape);
const deployments = listOf('deployments', deploymentShape);
const parseEnvironment = parserOf(environmentShape);

export interface WantedEnvironment {
  readonly name: string;
  readonly url: string;
  /** The commit that answers; undefined while nothing does. */
  readonly serving: { readonly commit: CommitSha; readonly ref: string; readonly isTag: boolean } | undefined;
}

/** GitLab's environments, with a link on merge requests. Everything throws `EphError`. */
export interface GitlabEnvironments {
  ensure(wanted: WantedEnvironment, signal: AbortSignal): Promise<void>;
  ensureStopped(name: string, signal: AbortSignal): Promise<void>;
  /** Environments that should be available and are stopped. If one was available before, somebody else stopped it. */
  listStopped(signal: AbortSignal): Promise<ReadonlyMap<string, { readonly wasAvailable: boolean }>>;
  /** Starts an environment again that somebody stopped. Without a serving commit it stays stopped until there is one. */
  restart(wanted: WantedEnvironment, signal: AbortSignal): Promise<void>;
  /** Stops it first: GitLab deletes only stopped environments. Its deployments are deleted too. */
  ensureDeleted(name: string, signal: AbortSignal): Promise<void>;
}

/** GitLab shows names with a common prefix as one group. */
export const reviewPrefix = 'review/';

const addressLimit = 255;

const addressOf = (url: string): { readonly external_url?: string } => (url.length <= addressLimit ? { external_url: url } : {});

export const createGitlabEnvironments = (client: GitlabClient): GitlabEnvironments => {
  const known = new Map<string, number>();
  /**
   * Environments that should be available, and whether they were observed so: only then somebody else can have stopped
   * them. GitLab starts one again shortly after the answer to its new deployment.
   */
  const expected = new Map<string, { readonly wasAvailable: boolean }>();

  const search = async (name: string, by: 'name' | 'search', signal: AbortSignal): Promise<EnvironmentShape | undefined> => {
    const listing = await client.list(`/environments?${by}=${encodeURIComponent(name)}`, environments, signal);
    if (!listing.complete) throw toError(listing.refusal);
    const found = listing.items.find((environment) => environment.name === name);
    if (found !== undefined) known.set(name, found.id);
    return found;
  };

  /**
   * An empty list may be incomplete, and GitLab has no count. So a known environment is read by its id; otherwise a
   * second list with another parameter must not contain it either.
   */
  const find = async (name: string, signal: AbortSignal): Promise<EnvironmentShape | undefined> => {
    const found = await search(name, 'name', signal);
    if (found !== undefined) return found;
    const id = known.get(name);
    return id === undefined ? await search(name, 'search', signal) : await readOne(id, signal);
  };

  const readOne = async (id: number, signal: AbortSignal): Promise<EnvironmentShape | undefined> => {
    const answer = await client.read(`/environments/${id}`, parseEnvironment, signal);
    return !answer.ok && (await isGone(client, answer, signal)) ? undefined : unwrap(answer);
  };

  const readLastDeployment = async (name: string, signal: AbortSignal): Promise<DeploymentShape | undefined> => {
    const path = `/deployments?environment=${encodeURIComponent(name)}&order_by=id&sort=desc`;
    return unwrap(await client.readPage(path, deployments, '1', signal)).items[0];
  };

  /** Also starts a stopped environment, which nothing else does. */
  const ensureDeployment = async (
    { name, serving }: WantedEnvironment,
    { state }: EnvironmentShape,
    signal: AbortSignal,
  ): Promise<void> => {
    if (serving === undefined) return;
    const { commit, ref, isTag } = serving;
    const last = await readLastDeployment(name, signal);
    if (last?.sha === commit && last.status === 'success' && state === 'available') return;
    const body = { environment: name, sha: commit, ref, tag: isTag, status: 'success' };
    unwrap(await client.send('POST', '/deployments', body, parseNothing, signal));
  };

  const stop = async (environment: EnvironmentShape | undefined, signal: AbortSignal): Promise<void> => {
    if (environment === undefined || environment.state === 'stopped') return;
    await sendUnlessGone('POST', `/environments/${environment.id}/stop`, signal);
  };

  const sendUnlessGone = async (method: 'POST' | 'DELETE', path: string, signal: AbortSignal): Promise<void> => {
    const answer = await client.send(method, path, undefined, parseNothing, signal);
    if (!answer.ok && !(await isGone(client, answer, signal))) throw toError(answer);
  };

  /** Another ephd may create it at the same time. */
  const create = async ({ name, url }: WantedEnvironment, signal: AbortSignal): Promise<EnvironmentShape> => {
    const body = { name, ...addressOf(url), tier: 'development' };
    // Without an answer it is unknown whether it was created.
    known.delete(name);
    const answer = await client.send('POST', '/environments', body, parseEnvironment, signal);
    if (!answer.ok && answer.meaning === 'refused') return (await search(name, 'name', signal)) ?? unwrap(answer);
    const made = unwrap(answer);
    known.set(name, made.id);
    return made;
  };

  const findOrCreate = async (wanted: WantedEnvironment, signal: AbortSignal): Promise<EnvironmentShape> =>
    (await search(wanted.name, 'name', signal)) ?? (await create(wanted, signal));

  const update = async (wanted: WantedEnvironment, found: EnvironmentShape, signal: AbortSignal): Promise<void> => {
    const address = addressOf(wanted.url);
    if (address.external_url !== undefined && found.external_url !== wanted.url)
      unwrap(await client.send('PUT', `/environments/${found.id}`, address, parseNothing, signal));
    await ensureDeployment(wanted, found, signal);
  };

  return {
    async ensure(wanted, signal) {
      const found = await findOrCreate(wanted, signal);
      const wasAvailable = found.state === 'available';
      // What somebody stopped stays stopped until `handleStops` decides.
      if (!wasAvailable && expected.get(wanted.name)?.wasAvailable === true) return;
      expected.set(wanted.name, { wasAvailable });
      await update(wanted, found, signal);
    },

    async restart(wanted, signal) {
      const found = await findOrCreate(wanted, signal);
      await update(wanted, found, signal);
      expected.set(wanted.name, { wasAvailable: found.state === 'available' });
    },

    async ensureStopped(name, signal) {
      expected.delete(name);
      await stop(await find(name, signal), signal);
    },

    async listStopped(signal) {
      const before = new Map(expected);
      if (before.size === 0) return before;
      // A project may have thousands of stopped environments.
      const listing = await client.list(`/environments?states=available&search=${reviewPrefix}`, environments, signal);
      if (!listing.complete) throw toError(listing.refusal);
      const available = new Set(listing.items.map(({ name }) => name));
      const others = [...before.keys()].filter((name) => !available.has(name));
      // The list may be incomplete.
      for (const name of others) if ((await find(name, signal))?.state === 'available') available.add(name);
      // What was written meanwhile is newer than the list.
      const unwritten = [...before].filter(([name, was]) => expected.get(name) === was);
      for (const [name] of unwritten) if (available.has(name)) expected.set(name, { wasAvailable: true });
      return new Map(unwritten.filter(([name]) => !available.has(name)));
    },

    async ensureDeleted(name, signal) {
      expected.delete(name);
      const found = await find(name, signal);
      await stop(found, signal);
      if (found !== undefined) await sendUnlessGone('DELETE', `/environments/${found.id}`, signal);
      known.delete(name);
    },
  };
};
