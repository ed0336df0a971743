import type { AnswerTable } from '../forge-http/answer.ts';
import type { ObservedAnswer } from '../forge-http/gate.ts';

/**
 * What the statuses of GitHub mean. Besides these:
 * - No answer within the time limit, a broken connection, or a body that breaks off: retry, and nothing is concluded.
 * - 200 with a body of another shape, such as half of one: incomplete.
 * - 200 with an empty list of pull requests, branches or tags after more than two, or as the first answer of all: incomplete, unless
 *   another endpoint confirms it.
 * - 200 with an empty list of comments or reactions: incomplete, unless the pull request itself counts none. Of reviews: incomplete, if
 *   its timeline shows one. Of deployments: incomplete, if one that is known is still there or another list shows some.
 * - 200 with a list of events that does not tell when a label was added that is there: incomplete.
 * - 200 with an empty page where the page before it promises one, or a later page that does not know the ones before it: incomplete.
 * - 200 for pages that differ each time they are read: incomplete.
 * - 404 and 409 for one pull request, ref or commit: gone, if the repository itself can be read. Otherwise nothing follows: GitHub says
 *   404 of everything in a repository that was deleted, made private or closed to the token.
 * - 404 for a whole list, or while the App signs in: incomplete.
 * - A pull request that is closed: gone.
 * - 404 for an owner, or 200 without any of its repositories: incomplete. Nobody can tell it from rights that are missing.
 */
export const githubAnswers: AnswerTable = [
  {
    status: 401,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown}: the credentials are not valid, or not any more; give Eph new ones.`,
  },
  {
    status: 403,
    when: (headers) => headers.get('x-ratelimit-remaining') === '0',
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: all requests that GitHub grants are spent until its count starts over.`,
  },
  {
    status: 403,
    when: (headers) => headers.has('retry-after'),
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitHub asks for a pause.`,
  },
  {
    status: 403,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) =>
      `${shown} refuses this to Eph; its App needs to read and write issues, pull requests, commit statuses and deployments and to read checks, contents and metadata, and its token the scope repo.`,
  },
  {
    status: 404,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown} does not exist, or Eph may not see it; check its name and the rights Eph was given.`,
  },
  {
    status: 409,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown} is empty, or what Eph wants to write contradicts what is there.`,
  },
  {
    status: 410,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown}: what was asked for has been deleted or switched off.`,
  },
  {
    status: 422,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} does not accept what Eph wants to write.`,
  },
  {
    status: 429,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitHub asks for a pause.`,
  },
  {
    status: 451,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} was blocked for legal reasons; GitHub shows nothing of it.`,
  },
  {
    status: [500, 599],
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitHub is in trouble.`,
  },
];

/** Secondary limits come as 403 or 429, with or without a word about how long they last. */
export const isThrottle = ({ status, body }: Pick<ObservedAnswer, 'status' | 'body'>): boolean =>
  (status === 403 || status === 429) && /secondary rate limit|abuse detection/i.test(body);
