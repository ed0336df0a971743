import type { Answer } from '../forge-http/answer.ts';
import { listOf, parseNothing } from '../forge-http/forge-http.ts';
import type { GitlabClient } from './gitlab-client.ts';
import { awardShape } from './shapes.ts';

const awards = listOf('reactions', awardShape);

/** Whether our account has left this reaction on a comment. */
const hasAward = async (client: GitlabClient, path: string, name: string, signal: AbortSignal): Promise<Answer<boolean>> => {
  const [account, listing] = await Promise.all([client.readAccount(signal), client.list(`${path}/award_emoji`, awards, signal)]);
  if (!account.ok) return account;
  if (!listing.complete) return listing.refusal;
  return { ok: true, value: listing.items.some((award) => award.name === name && award.user.id === account.value) };
};

/** Adds the reaction once. GitLab answers 404 both for an existing reaction and for a missing comment, so it is read first. */
export const ensureAward = async (
  client: GitlabClient,
  path: string,
  name: string,
  signal: AbortSignal,
): Promise<Answer<unknown>> => {
  const before = await hasAward(client, path, name, signal);
  if (!before.ok || before.value) return before;
  const answer = await client.send('POST', `${path}/award_emoji`, { name }, parseNothing, signal);
  if (answer.ok || answer.meaning !== 'gone') return answer;
  const after = await hasAward(client, path, name, signal);
  return after.ok && !after.value ? answer : after;
};
