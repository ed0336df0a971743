import type { Answer } from '../forge-http/answer.ts';
import { filterWriters } from '../forge-http/commands.ts';
import { parserOf } from '../forge-http/forge-http.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { memberShape } from './shapes.ts';

const parseMember = parserOf(memberShape);

/** The lowest role that can push: https://docs.gitlab.com/api/members/#roles */
const developer = 30;

/** By id, as members of the project or of a parent group. */
export const readWriters = (
  client: GitlabClient,
  people: Iterable<number>,
  signal: AbortSignal,
): Promise<Answer<ReadonlySet<number>>> => filterWriters(people, (id) => mayWrite(client, id, signal));

const mayWrite = async (client: GitlabClient, id: number, signal: AbortSignal): Promise<Answer<boolean>> => {
  const answer = await client.read(`/members/all/${id}`, parseMember, signal);
  // Not a member. If the project itself cannot be read, the reading that found these people has failed.
  if (!answer.ok) return answer.meaning === 'gone' ? { ok: true, value: false } : answer;
  const { access_level: level, state } = answer.value;
  return { ok: true, value: level >= developer && state === 'active' };
};
