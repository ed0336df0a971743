import { confirmEmpty } from '../forge-http/empty-list.ts';
import { listOf, parserOf } from '../forge-http/forge-http.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { mergeRequestShape, type NoteShape, noteShape } from './shapes.ts';

const notes = listOf('comments', noteShape);
const parseCount = parserOf(mergeRequestShape.pick({ user_notes_count: true }).transform((counts) => counts.user_notes_count));

/** The notes of people and bots on a merge request, oldest first. */
export const readNotes = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Listing<NoteShape>> => {
  const path = `/merge_requests/${number}/notes?order_by=created_at&sort=asc&activity_filter=only_comments`;
  const listing = await client.list(path, notes, signal);
  const written = { ...listing, items: listing.items.filter(({ system }) => !system) };
  const count = () => client.read(`/merge_requests/${number}`, parseCount, signal);
  return await confirmEmpty(written, count, `${client.shown} does not list the comments on merge request ${number}.`);
};
