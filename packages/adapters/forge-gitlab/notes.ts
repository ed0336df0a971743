import type { Listing } from '../forge-http/read-pages.ts';
import { type GitlabClient, listOf } from './gitlab-client.ts';
import { type NoteShape, noteShape } from './shapes.ts';

const notes = listOf('comments', noteShape);

/** What people and bots wrote on a merge request, oldest first. */
export const readNotes = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Listing<NoteShape>> => {
  const path = `/merge_requests/${number}/notes?order_by=created_at&sort=asc&activity_filter=only_comments`;
  const listing = await client.list(path, notes, { signal, fresh: true });
  return { ...listing, items: listing.items.filter(({ system }) => !system) };
};
