import type { HeldPage, ProjectView, SourcePage } from '@eph/contract';
import type { Client } from './client.ts';
import { readPages } from './read-pages.ts';

export const listProjects = (client: Client): Promise<readonly ProjectView[]> =>
  readPages(async (after) => {
    const { projects: items, next } = await client.listProjects({ query: { limit: 1000, after } });
    return { items, next };
  });

export const listSources = (client: Client, project: string): Promise<readonly SourcePage['sources'][number][]> =>
  readPages(async (after) => {
    const { sources: items, next } = await client.listSources({ path: { project }, query: { limit: 1000, after } });
    return { items, next };
  });

export const listHeld = (client: Client): Promise<readonly HeldPage['environments'][number][]> =>
  readPages(async (after) => {
    const { environments: items, next } = await client.listHeld({ query: { limit: 1000, after } });
    return { items, next };
  });
