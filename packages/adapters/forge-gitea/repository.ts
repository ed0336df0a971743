import type { Answer } from '../forge-http/answer.ts';
import { isGone } from '../forge-http/is-gone.ts';
import type { GiteaClient } from './gitea-client.ts';
import { type PullShape, parsePull, parseRepository, type RepositoryShape } from './shapes.ts';

export const readRepository = (client: GiteaClient, signal: AbortSignal): Promise<Answer<RepositoryShape>> =>
  client.read('', parseRepository, signal);

export const readPull = (client: GiteaClient, number: number, signal: AbortSignal): Promise<Answer<PullShape>> =>
  client.read(`/pulls/${number}`, parsePull, signal);

export const isPullGone = async (client: GiteaClient, number: number, signal: AbortSignal): Promise<boolean> => {
  const answer = await readPull(client, number, signal);
  return !answer.ok && (await isGone(client, answer, signal));
};
