import { z } from 'zod';
import type { ForgeApiOptions, ParseAnswer } from '../forge-http/forge-http.ts';
import { parseLinks } from '../forge-http/read-pages.ts';
import { type ChangedPage, createSharedChanges, type SharedChanges } from '../forge-http/shared-changes.ts';
import { createGiteaApi, parseCounted } from './gitea-client.ts';
import { listOf } from './shapes.ts';

const parseIssues = listOf(z.object({ id: z.int(), repository: z.object({ full_name: z.string() }) }));

const parseChanged =
  (page: string): ParseAnswer<ChangedPage> =>
  (body, headers) => {
    const { items, total } = parseCounted(parseIssues(body), headers);
    const next = parseLinks(headers.get('link')).has('next') ? String(Number(page) + 1) : undefined;
    const changed = items.map(({ id, repository }) => ({ id, path: repository.full_name }));
    return { items: changed, next, total, readAtMs: Date.parse(headers.get('date') ?? '') };
  };

/**
 * For all repositories of an organisation or user that Eph can see. Without search terms this query is answered from the
 * database, not from an index that lags.
 */
export const createOwnerChanges = (options: ForgeApiOptions, owner: string): SharedChanges => {
  const api = createGiteaApi(options, owner);
  // Not more than Gitea's page size: it counts pages by the requested limit.
  const everything = `type=pulls&state=all&owner=${encodeURIComponent(owner)}&limit=50`;
  return createSharedChanges({
    readPage: (since, page, signal) =>
      api.read(`/repos/issues/search?${everything}&since=${since.toISOString()}&page=${page}`, parseChanged(page), signal),
    shown: api.shown,
    now: options.now,
  });
};
