import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import type { GiteaClient } from './gitea-client.ts';
import { parsePermission } from './shapes.ts';

const writeLevels = new Set(['write', 'admin', 'owner']);
const knownLevels = new Set([...writeLevels, 'read', 'none']);

/** The people who may write to the repository now; one request each. */
export const readWriters = async (
  client: GiteaClient,
  people: Iterable<string>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<string>>> => {
  const writers = new Set<string>();
  const ask = async (name: string): Promise<Answer<boolean>> => {
    const answer = await mayWrite(client, name, signal);
    if (answer.ok && answer.value) writers.add(name);
    return answer;
  };
  const answers = await Promise.all([...new Set(people)].map(ask));
  return answers.find((answer) => !answer.ok) ?? { ok: true, value: writers };
};

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
