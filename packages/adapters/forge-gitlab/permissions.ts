import type { Answer, Refusal } from '../forge-http/answer.ts';
import { type GitlabClient, parserOf } from './gitlab-client.ts';
import { memberShape } from './shapes.ts';

const parseMember = parserOf(memberShape);

/** The lowest role that can push: https://docs.gitlab.com/api/members/#roles */
const developer = 30;

/** The ids of the people who may write to the project now, as members of it or of a parent group; one request each. */
export const readWriters = async (
  client: GitlabClient,
  people: Iterable<number>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<number>>> => {
  const ids = [...new Set(people)];
  const answers = await Promise.all(ids.map((id) => readMember(client, id, signal)));
  const refusal = answers.find((answer): answer is Refusal => !answer.ok);
  if (refusal !== undefined) return refusal;
  return { ok: true, value: new Set(answers.flatMap((answer) => (answer.ok && answer.value.mayWrite ? [answer.value.id] : []))) };
};

const readMember = async (
  client: GitlabClient,
  id: number,
  signal: AbortSignal,
): Promise<Answer<{ readonly id: number; readonly mayWrite: boolean }>> => {
  const answer = await client.read(`/members/all/${id}`, parseMember, { signal, fresh: true });
  // Not a member. If the project itself cannot be read, the reading that found these people has failed.
  if (!answer.ok) return answer.meaning === 'gone' ? { ok: true, value: { id, mayWrite: false } } : answer;
  const { access_level: level, state } = answer.value;
  return { ok: true, value: { id, mayWrite: level >= developer && state === 'active' } };
};
