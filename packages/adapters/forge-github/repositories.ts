import type { ListedRepository, Reading } from '@eph/contract';
import { z } from 'zod';
import { toRepositoryReading } from '../forge-http/listed-repositories.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import {
  createGithubClient,
  type GithubClient,
  type GithubClientOptions,
  type ListQuery,
  type Parameters,
} from './github-client.ts';

const listedShape = z.object({
  id: z.int(),
  full_name: z.string(),
  archived: z.boolean(),
  owner: z.object({ login: z.string() }),
});
type Listed = z.output<typeof listedShape>;

const ownerShape = z.object({ login: z.string(), type: z.string() });
const installedShape = z.object({ repositories: z.array(listedShape) });

const parseOwner = (body: unknown) => ownerShape.parse(body);
const parseList = (body: unknown) => z.array(listedShape).parse(body);
const parseInstalled = (body: unknown) => installedShape.parse(body).repositories;

const ask = (route: string, parameters: Parameters = {}, parse: (body: unknown) => readonly Listed[] = parseList) =>
  ({ route, parameters, parse, keyOf: ({ id }) => id, what: 'repositories' }) satisfies ListQuery<Listed>;

/** Oldest first, so that new repositories come last while pages are read. */
const oldestFirst = { sort: 'created', direction: 'asc' } as const;

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
    ? await client.list(ask('GET /installation/repositories', {}, parseInstalled), { signal, fresh: true })
    : await listAsPerson(client, owner, signal);
  const listed = items
    .filter((item) => item.owner.login.toLowerCase() === owner.toLowerCase())
    .map(({ full_name: path, archived }) => ({ path, archived }));
  return toRepositoryReading({ ...listing, items: listed }, client.shown);
};

const listAsPerson = async (client: GithubClient, name: string, signal: AbortSignal): Promise<Listing<Listed>> => {
  const options = { signal, fresh: true };
  const owner = await client.read({ route: 'GET /users/{username}', parameters: { username: name }, parse: parseOwner }, options);
  if (!owner.ok) return { complete: false, items: [], refusal: owner };
  if (owner.value.type === 'Organization')
    return await client.list(ask('GET /orgs/{org}/repos', { org: name, type: 'all', ...oldestFirst }), options);
  const visible = await client.list(
    ask('GET /users/{username}/repos', { username: name, type: 'owner', ...oldestFirst }),
    options,
  );
  if (!visible.complete) return visible;
  const own = await client.list(ask('GET /user/repos', { affiliation: 'owner,collaborator', ...oldestFirst }), options);
  const items = [...new Map([...visible.items, ...own.items].map((item) => [item.id, item])).values()];
  return { ...own, items };
};
