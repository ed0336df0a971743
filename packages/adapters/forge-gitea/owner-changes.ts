import { z } from 'zod';
import { type ForgeApiOptions, listOf } from '../forge-http/forge-http.ts';
import { createSharedChanges, type SharedChanges } from '../forge-http/shared-changes.ts';
import { createGiteaApi } from './gitea-client.ts';

const changedShape = z.object({ id: z.int(), repository: z.object({ full_name: z.string() }) });
const changed = listOf(
  'pull requests',
  changedShape.transform(({ id, repository }) => ({ id, path: repository.full_name })),
);

/**
 * For all repositories of an organisation or user that Eph can see. Without search terms this query is answered from the
 * database, not from an index that lags.
 */
export const createOwnerChanges = (options: ForgeApiOptions, owner: string): SharedChanges => {
  const api = createGiteaApi(options, owner);
  // Not more than Gitea's page size: it counts pages by the requested limit.
  const path = `/repos/issues/search?type=pulls&state=all&owner=${encodeURIComponent(owner)}&limit=50`;
  return createSharedChanges({
    readPage: (since, page, signal) => api.readPage(`${path}&since=${since.toISOString()}`, changed, page, signal),
    shown: api.shown,
    now: options.now,
  });
};
