import { incompleteReading, type ListedRepository, type Reading } from '@eph/contract';
import { z } from 'zod';
import { type ForgeApiOptions, type Listed, parserOf } from '../forge-http/forge-http.ts';
import { toRepositoryReading } from '../forge-http/listed-repositories.ts';
import { createGiteaApi } from './gitea-client.ts';

const ownerShape = z.object({ id: z.int() });
const repositoryShape = z.object({ id: z.int(), full_name: z.string(), archived: z.boolean() });
const foundShape = z.object({ ok: z.literal(true), data: z.array(repositoryShape) });
const parseOwner = parserOf(ownerShape);

const repositories: Listed<z.output<typeof repositoryShape>> = {
  what: 'repositories',
  parse: (body) => foundShape.parse(body).data,
  keyOf: ({ id }) => id,
};

/** The repositories of an organisation or user that Eph can see. By search: the plain lists also count what they do not show. */
export const readRepositories = async (
  options: ForgeApiOptions,
  owner: string,
  signal: AbortSignal,
): Promise<Reading<ListedRepository>> => {
  const api = createGiteaApi(options, owner);
  // An organisation is a user here too, which needs no other scope.
  const found = await api.read(`/users/${encodeURIComponent(owner)}`, parseOwner, signal);
  if (!found.ok) return incompleteReading([], found.fault);
  // Oldest first, so that new repositories come last while pages are read.
  const path = `/repos/search?uid=${found.value.id}&exclusive=true&sort=id&order=asc`;
  const { items, ...listing } = await api.list(path, repositories, signal);
  const listed = items.map(({ full_name: name, archived }) => ({ path: name, archived }));
  return toRepositoryReading({ ...listing, items: listed }, api.shown);
};
