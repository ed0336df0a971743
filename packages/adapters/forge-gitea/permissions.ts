import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import { filterWriters } from '../forge-http/writers.ts';
import type { GiteaClient } from './gitea-client.ts';
import { parsePermission } from './shapes.ts';

const writeLevels = new Set(['write', 'admin', 'owner']);
const knownLevels = new Set([...writeLevels, 'read', 'none']);

export const readWriters = (
  client: GiteaClient,
  people: Iterable<string>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<string>>> => filterWriters(people, (name) => mayWrite(client, name, signal));

const mayWrite = async (client: GiteaClient, name: string, signal: AbortSignal): Promise<Answer<boolean>> => {
  const path = `/collaborators/${encodeURIComponent(name)}/permission`;
  const answer = await client.read(path, parsePermission, signal);
  // A deleted account.
  if (!answer.ok) return answer.meaning === 'gone' ? { ok: true, value: false } : answer;
  const { permission } = answer.value;
  return knownLevels.has(permission)
    ? { ok: true, value: writeLevels.has(permission) }
    : invalidAnswer(`${client.shown} returned an unknown permission.`);
};
