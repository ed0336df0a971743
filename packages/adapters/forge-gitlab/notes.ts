import { senseless } from '../forge-http/answer.ts';
import type { Listing } from '../forge-http/read-pages.ts';
import { type GitlabClient, listOf, parserOf } from './gitlab-client.ts';
import { mergeRequestShape, type NoteShape, noteShape } from './shapes.ts';

const notes = listOf('comments', noteShape);
const parseCount = parserOf(mergeRequestShape.pick({ user_notes_count: true }));

/** What people and bots wrote on a merge request, oldest first. */
export const readNotes = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Listing<NoteShape>> => {
  const path = `/merge_requests/${number}/notes?order_by=created_at&sort=asc&activity_filter=only_comments`;
  const listing = await client.list(path, notes, { signal, fresh: true });
  const written = { ...listing, items: listing.items.filter(({ system }) => !system) };
  return written.complete && written.items.length === 0 ? await confirmSilence(client, number, written, signal) : written;
};

/** An empty list may be all that arrived: the merge request itself says how many comments it has. */
const confirmSilence = async (
  client: GitlabClient,
  number: number,
  silence: Listing<NoteShape>,
  signal: AbortSignal,
): Promise<Listing<NoteShape>> => {
  const answer = await client.read(`/merge_requests/${number}`, parseCount, { signal, fresh: true });
  if (!answer.ok) return { complete: false, items: [], refusal: answer };
  if (answer.value.user_notes_count === 0) return silence;
  const refusal = senseless(`${client.shown} shows none of the comments on merge request ${number}.`);
  return { complete: false, items: [], refusal };
};
