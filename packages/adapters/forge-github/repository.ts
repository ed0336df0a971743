import type { SourceAnswer } from '@eph/engine/source/forge';
import type { z } from 'zod';
import type { Answer, Refusal } from '../forge-http/answer.ts';
import type { GithubClient } from './github-client.ts';
import { repositoryShape } from './shapes.ts';

const repository = {
  route: 'GET /repos/{owner}/{repo}',
  parse: (body: unknown): z.output<typeof repositoryShape> => repositoryShape.parse(body),
};

export const readRepository = (client: GithubClient, signal: AbortSignal): Promise<Answer<z.output<typeof repositoryShape>>> =>
  client.read(repository, { signal, fresh: true });

/** GitHub answers 404 both for missing and for hidden resources. It means missing only if the repository can be read. */
export const checkGone = async (
  client: GithubClient,
  { meaning, fault }: Refusal,
  signal: AbortSignal,
): Promise<Extract<SourceAnswer, { readonly state: 'gone' | 'unknown' }>> => {
  if (meaning !== 'gone') return { state: 'unknown', fault };
  const answer = await readRepository(client, signal);
  return answer.ok ? { state: 'gone' } : { state: 'unknown', fault: answer.fault };
};
