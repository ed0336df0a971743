import type { Answer, Refusal } from '../forge-http/answer.ts';
import type { GiteaClient } from './gitea-client.ts';
import { type PullShape, parsePull, parseRepository, type RepositoryShape } from './shapes.ts';

export const readRepository = (client: GiteaClient, signal: AbortSignal): Promise<Answer<RepositoryShape>> =>
  client.read('', parseRepository, signal);

export const readPull = (client: GiteaClient, number: number, signal: AbortSignal): Promise<Answer<PullShape>> =>
  client.read(`/pulls/${number}`, parsePull, signal);

/** Whether a resource does not exist. A 404 is reliable only if the repository can be read. */
export const isGone = async (client: GiteaClient, { meaning }: Refusal, signal: AbortSignal): Promise<boolean> =>
  meaning === 'gone' && (await readRepository(client, signal)).ok;

export const isPullGone = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<boolean> => {
  const answer = await readPull(client, number, signal);
  return !answer.ok && (await isGone(client, answer, signal));
};
