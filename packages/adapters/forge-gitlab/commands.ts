import { completeReading, type Failure, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { senseless } from '../forge-http/answer.ts';
import { type GitlabClient, parserOf } from './gitlab-client.ts';
import { readNotes } from './notes.ts';
import { readWriters } from './permissions.ts';
import { mergeRequestShape, type NoteShape } from './shapes.ts';
import { headAt, readVersions } from './versions.ts';

const parseMergeRequest = parserOf(mergeRequestShape);

/** As `Pulls.commands`. A merge request with comments and without any of them costs one request. */
export const readCommands = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const notes = await readNotes(client, number, signal);
  if (!notes.complete) return incompleteReading([], notes.refusal.fault);
  const commanding = notes.items.filter((note) => firstLine(note).startsWith('/'));
  if (commanding.length === 0) return await confirmSilence(client, number, notes.items.length, signal);
  const authors = commanding.map(({ author }) => author.id);
  const [versions, writers] = await Promise.all([readVersions(client, number, signal), readWriters(client, authors, signal)]);
  if (!versions.complete) return incompleteReading([], versions.refusal.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  // Whoever was commented on has a head, and every head is a version.
  if (versions.items.length === 0) return incompleteReading([], nothingShown(client, `versions of merge request ${number}`));
  return completeReading(
    commanding.map((note) => ({
      id: String(note.id),
      text: firstLine(note),
      author: note.author.username,
      mayWrite: writers.value.has(note.author.id),
      at: note.created_at,
      commit: headAt(versions.items, note.created_at),
    })),
  );
};

/** An empty list may be all that arrived: the merge request itself says how many comments it has. */
const confirmSilence = async (
  client: GitlabClient,
  number: number,
  seen: number,
  signal: AbortSignal,
): Promise<Reading<Command>> => {
  if (seen > 0) return completeReading([]);
  const answer = await client.read(`/merge_requests/${number}`, parseMergeRequest, { signal, fresh: true });
  if (!answer.ok) return incompleteReading([], answer.fault);
  if (answer.value.user_notes_count === 0) return completeReading([]);
  return incompleteReading([], nothingShown(client, `comments on merge request ${number}`));
};

const nothingShown = ({ shown }: GitlabClient, what: string): Failure => senseless(`${shown} shows none of the ${what}.`).fault;

const firstLine = ({ body }: NoteShape): string => (body.split(/\r?\n/, 1)[0] ?? '').trim();
