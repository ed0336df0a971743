import { z } from 'zod';
import { type ForgeApiOptions, listOf } from '../forge-http/forge-http.ts';
import { createSharedChanges, type SharedChanges } from '../forge-http/shared-changes.ts';
import { createGitlabApi } from './gitlab-client.ts';
import { pathOf } from './merge-request-source.ts';
import { referencesShape } from './shapes.ts';

const changedShape = z.object({ id: z.int(), references: referencesShape });
const changed = listOf(
  'merge requests',
  changedShape.transform(({ id, references }) => ({ id, path: pathOf(references) })),
);

/** For all projects of a group and its subgroups. GitLab has no such list for users. */
export const createGroupChanges = (options: ForgeApiOptions, group: string): SharedChanges => {
  const api = createGitlabApi(options, group);
  const everything = 'scope=all&state=all&non_archived=false&order_by=updated_at';
  const path = `/groups/${encodeURIComponent(group)}/merge_requests?${everything}`;
  return createSharedChanges({
    readPage: (since, page, signal) => api.readPage(`${path}&updated_after=${since.toISOString()}`, changed, page, signal),
    shown: api.shown,
    now: options.now,
  });
};
