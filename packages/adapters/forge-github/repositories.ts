import type { ListedRepository, Reading } from '@eph/contract';
import { z } from 'zod';
import { type Listed, listOf, parserOf } from '../forge-http/forge-http.ts';
import { toRepositoryReading } from '../forge-http/listed-repositories.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { createGithubClient, type GithubClient, type GithubClientOptions } from './github-client.ts';

const listedShape = z.object({
  id: z.int(),
  full_name: z.string(),
  archived: z.boolean(),
  owner: z.object({ login: z.string() }),
});
type ListedShape = z.output<typeof listedShape>;

const ownerShape = z.object({ login: z.string(), type: z.string() });
const installedShape = z.object({ repositories: z.array(listedShape) });

const parseOwner = parserOf(ownerShape);
const repositories = listOf('repositories', listedShape);
const installed: Listed<ListedShape> = { ...repositories, parse: (body) => installedShape.parse(body).repositories };

/** Oldest first, so that new repositories come last while pages are read. */
const oldestFirst = 'sort=created&direction=asc';

/**
 * The repositories of an organisation or user that Eph can see: with an App, those it is installed on; with a token, all
 * of an organisation. For a user, GitHub lists only public ones; private ones are in the list of Eph's own account.
 */
export const readRepositories = async (
  options: Omit<GithubClientOptions, 'owner' | 'repository'>,
  owner: string,
  signal: AbortSignal,
): Promise<Reading<ListedRepository>> => {
  const client = createGithubClient({ ...options, owner });
  const { items, ...listing } = options.identity.isApp
    ? await client.list('/installation/repositories', installed, signal)
    : await listAsPerson(client, owner, signal);
  const listed = items
    .filter((item) => item.owner.login.toLowerCase() === owner.toLowerCase())
    .map(({ full_name: path, archived }) => ({ path, archived }));
  return toRepositoryReading({ ...listing, items: listed }, client.shown);
};

const listAsPerson = async (client: GithubClient, name: string, signal: AbortSignal): Promise<Listing<ListedShape>> => {
  const path = encodeURIComponent(name);
  const owner = await client.read(`/users/${path}`, parseOwner, signal);
  if (!owner.ok) return { complete: false, items: [], refusal: owner };
  const list = (query: string) => client.list(`${query}&${oldestFirst}`, repositories, signal);
  if (owner.value.type === 'Organization') return await list(`/orgs/${path}/repos?type=all`);
  const visible = await list(`/users/${path}/repos?type=owner`);
  if (!visible.complete) return visible;
  const own = await list('/user/repos?affiliation=owner,collaborator');
  const items = [...new Map([...visible.items, ...own.items].map((item) => [item.id, item])).values()];
  return { ...own, items };
};
