import { z } from 'zod';
import type { ForgeApiOptions, ParseAnswer } from '../forge-http/forge-http.ts';
import { type ChangedPage, createSharedChanges, type SharedChanges } from '../forge-http/shared-changes.ts';
import { createGitlabApi, listOf } from './gitlab-client.ts';
import { pathOf } from './merge-request-source.ts';
import { referencesShape } from './shapes.ts';

const mergeRequests = listOf('merge requests', z.object({ id: z.int(), references: referencesShape }));

const parseChanged: ParseAnswer<ChangedPage> = (body, headers) => {
  const { items, ...position } = mergeRequests.parsePage(body, headers);
  const changed = items.map(({ id, references }) => ({ id, path: pathOf(references) }));
  return { items: changed, ...position, readAtMs: Date.parse(headers.get('date') ?? '') };
};

/** For all projects of a group and its subgroups. GitLab has no such list for users. */
export const createGroupChanges = (options: ForgeApiOptions, group: string): SharedChanges => {
  const api = createGitlabApi(options, group);
  const path = `/groups/${encodeURIComponent(group)}/merge_requests`;
  const everything = 'scope=all&state=all&non_archived=false&order_by=updated_at&per_page=100';
  return createSharedChanges({
    // Not cached: no URL is requested twice, because each has another date.
    readPage: (since, page, signal) => {
      const query = `${everything}&updated_after=${since.toISOString()}&page=${page}`;
      return api.send('GET', `${path}?${query}`, undefined, parseChanged, signal);
    },
    shown: api.shown,
    now: options.now,
  });
};
