import { completeReading, incompleteReading, type Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import type { GitlabClient } from './gitlab-client.ts';
import { readNotes } from './notes.ts';
import { readWriters } from './permissions.ts';
import type { NoteShape } from './shapes.ts';
import { headAt, readVersions } from './versions.ts';

/** As `Pulls.commands`. Without commands it costs one request. */
export const readCommands = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const notes = await readNotes(client, number, signal);
  if (!notes.complete) return incompleteReading([], notes.refusal.fault);
  const commandNotes = notes.items.filter((note) => firstLine(note).startsWith('/'));
  if (commandNotes.length === 0) return completeReading([]);
  const authors = commandNotes.map(({ author }) => author.id);
  const [versions, writers] = await Promise.all([readVersions(client, number, signal), readWriters(client, authors, signal)]);
  if (!versions.complete) return incompleteReading([], versions.refusal.fault);
  if (!writers.ok) return incompleteReading([], writers.fault);
  return completeReading(
    commandNotes.map((note) => ({
      id: String(note.id),
      text: firstLine(note),
      author: note.author.username,
      mayWrite: writers.value.has(note.author.id),
      at: note.created_at,
      commit: headAt(versions.items, note.created_at),
    })),
  );
};

const firstLine = ({ body }: NoteShape): string => (body.split(/\r?\n/, 1)[0] ?? '').trim();
