import type { Reading } from '@eph/contract';
import type { Command } from '@eph/engine/source/pulls';
import { computeCommands } from '../forge-http/commands.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { readNotes } from './notes.ts';
import { readWriters } from './permissions.ts';
import { headAt, readVersions } from './versions.ts';

/** As `Pulls.commands`. */
export const readCommands = async (client: GitlabClient, number: number, signal: AbortSignal): Promise<Reading<Command>> => {
  const { items, ...listing } = await readNotes(client, number, signal);
  const comments = items.map(({ id, body, author, created_at: at }) => ({
    id,
    body,
    at,
    author: author.username,
    person: author.id,
  }));
  return await computeCommands({
    comments: { ...listing, items: comments },
    readHeads: async () => {
      const versions = await readVersions(client, number, signal);
      return versions.complete ? { ok: true, value: ({ at }) => headAt(versions.items, at) } : versions.refusal;
    },
    readWriters: (people) => readWriters(client, people, signal),
  });
};
