import type { Answer, Refusal } from '../forge-http/answer.ts';
import { type GitlabClient, parserOf } from './gitlab-client.ts';
import { memberShape } from './shapes.ts';

const parseMember = parserOf(memberShape);

/** From here on people push. https://docs.gitlab.com/api/members/#roles */
const developer = 30;

/** Who of these people may write to the project now, by their ids, as members of it or of a group around it; each is asked for once. */
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
  // Nobody's business here. That the project itself cannot be seen shows wherever these people were found.
  if (!answer.ok) return answer.meaning === 'gone' ? { ok: true, value: { id, mayWrite: false } } : answer;
  const { access_level: level, state } = answer.value;
  return { ok: true, value: { id, mayWrite: level >= developer && state === 'active' } };
};
