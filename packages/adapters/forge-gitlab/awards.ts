import type { Answer } from '../forge-http/answer.ts';
import { type GitlabClient, listOf, parseNothing } from './gitlab-client.ts';
import { awardShape } from './shapes.ts';

const awards = listOf('reactions', awardShape);

/** Whether there is this reaction of our own on a comment or on a merge request, by its path. */
export const hasAward = async (
  client: GitlabClient,
  path: string,
  name: string,
  signal: AbortSignal,
): Promise<Answer<boolean>> => {
  const [account, listing] = await Promise.all([
    client.readAccount(signal),
    client.list(`${path}/award_emoji`, awards, { signal, fresh: true }),
  ]);
  if (!account.ok) return account;
  if (!listing.complete) return listing.refusal;
  return { ok: true, value: listing.items.some((award) => award.name === name && award.user.id === account.value) };
};

/** Puts it there once. To a reaction that is there already GitLab says 404, as it does of a comment that is gone: so it is looked for. */
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
