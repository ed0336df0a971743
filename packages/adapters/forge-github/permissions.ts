import { type Answer, invalidAnswer } from '../forge-http/answer.ts';
import type { GithubClient } from './github-client.ts';
import { checkGone } from './repository.ts';
import { permissionShape } from './shapes.ts';

const writeLevels = new Set(['write', 'admin']);
const knownLevels = new Set([...writeLevels, 'read', 'none']);

/**
 * The people who may write to the repository now, according to GitHub. The author association of comments is not enough:
 * members of an organisation need not have access.
 */
export const readWriters = async (
  client: GithubClient,
  people: Iterable<string>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<string>>> => {
  const names = [...new Set(people)];
  const answers = await Promise.all(names.map((name) => mayWrite(client, name, signal)));
  const writers = new Set<string>();
  for (const [index, name] of names.entries()) {
    const answer = answers[index];
    if (answer?.ok === false) return answer;
    if (answer?.value === true) writers.add(name);
  }
  return { ok: true, value: writers };
};

const mayWrite = async (client: GithubClient, username: string, signal: AbortSignal): Promise<Answer<boolean>> => {
  const route = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission';
  const answer = await client.read({ route, parameters: { username }, parse: parsePermission }, { signal, fresh: true });
  if (!answer.ok) {
    // A deleted account or a bot, unless the repository cannot be read.
    const gone = await checkGone(client, answer, signal);
    return gone.state === 'gone' ? { ok: true, value: false } : { ...answer, fault: gone.fault };
  }
  return knownLevels.has(answer.value)
    ? { ok: true, value: writeLevels.has(answer.value) }
    : invalidAnswer(`${client.shown} returned an unknown permission.`);
};

const parsePermission = (body: unknown): string => permissionShape.parse(body).permission;
