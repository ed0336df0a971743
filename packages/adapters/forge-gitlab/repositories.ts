import type { ListedRepository, Reading } from '@eph/contract';
import { z } from 'zod';
import type { ForgeApiOptions } from '../forge-http/forge-http.ts';
import { toRepositoryReading } from '../forge-http/listed-repositories.ts';
import { createGitlabApi, listOf } from './gitlab-client.ts';

const projects = listOf('projects', z.object({ id: z.int(), path_with_namespace: z.string(), archived: z.boolean() }));

/** Oldest first, so that new projects come last while pages are read. */
const oldestFirst = 'order_by=id&sort=asc';

/** The projects of a group with its subgroups, or of a user, that Eph can see. */
export const readRepositories = async (
  options: ForgeApiOptions,
  owner: string,
  signal: AbortSignal,
): Promise<Reading<ListedRepository>> => {
  const api = createGitlabApi(options, owner);
  const name = encodeURIComponent(owner);
  const list = (path: string) => api.list(path, projects, { signal, fresh: true });
  // Shared projects belong to other groups.
  const ofGroup = await list(`/groups/${name}/projects?include_subgroups=true&with_shared=false&${oldestFirst}`);
  const isNoGroup = !ofGroup.complete && ofGroup.refusal.meaning === 'gone' && ofGroup.items.length === 0;
  const { items, ...listing } =
    isNoGroup && !owner.includes('/') ? await list(`/users/${name}/projects?${oldestFirst}`) : ofGroup;
  const listed = items.map(({ path_with_namespace: path, archived }) => ({ path, archived }));
  return toRepositoryReading({ ...listing, items: listed }, api.shown);
};
