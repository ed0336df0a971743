import { type AnswerTable, type ReceivedAnswer, refused, retry, ruleOf } from '../forge-http/answer.ts';

/** Secondary limits are 403 or 429, with or without a duration. */
export const isThrottle = ({ status, body }: Pick<ReceivedAnswer, 'status' | 'body'>): boolean =>
  (status === 403 || status === 429) && /secondary rate limit|abuse detection/i.test(body);

const missing = ruleOf('gone', 'forge.refused');

/**
 * The meaning of GitHub's statuses. In addition:
 * - A timeout, a broken connection or a truncated body: retry.
 * - 200 with an invalid body: incomplete.
 * - 200 with an empty list of pull requests after more than two, or on the first reading: incomplete, unless another
 *   endpoint confirms it.
 * - 200 with an empty list of comments: incomplete, unless the pull request counts none. Of reviews: incomplete, if its
 *   timeline shows one. Of deployments: incomplete, if a known one still exists or another list shows some.
 * - 200 with events that do not show when a present label was added: incomplete.
 * - 200 with an empty page after a page with a next link, or a later page without a previous link: incomplete.
 * - 200 with pages that differ each time they are read: incomplete.
 * - 404 for one pull request: gone, if the repository can be read. Otherwise unknown: GitHub
 *   answers 404 for everything in a repository that was deleted, made private or closed to the token.
 * - 404 for a whole list, or while the App signs in: incomplete.
 * - A closed pull request: gone.
 * - 404 for an owner, or 200 without repositories: incomplete, because missing permissions look the same.
 */
export const githubAnswers: AnswerTable = [
  refused(401, (shown) => `${shown}: the credentials are invalid or expired; give Eph new ones.`),
  retry(
    403,
    (shown) => `${shown}: the rate limit of GitHub is exhausted until it resets.`,
    ({ headers }) => headers.get('x-ratelimit-remaining') === '0',
  ),
  retry(
    403,
    (shown) => `${shown}: GitHub asks for a pause.`,
    (answer) => answer.headers.has('retry-after') || isThrottle(answer),
  ),
  refused(
    403,
    (shown) =>
      `${shown} denies access; the App needs to read and write issues, pull requests, commit statuses and deployments and to read checks, contents and metadata; a token needs the scope repo.`,
  ),
  missing(
    404,
    (shown) => `${shown} does not exist, or Eph may not see it; check its name and the permissions that Eph was given.`,
  ),
  missing(409, (shown) => `${shown} is empty, or the write conflicts with its current state.`),
  missing(410, (shown) => `${shown}: the resource was deleted or disabled.`),
  refused(422, (shown) => `${shown} rejected the request as invalid.`),
  retry(429, (shown) => `${shown}: GitHub asks for a pause.`),
  refused(451, (shown) => `${shown} is blocked for legal reasons.`),
  retry([500, 599], (shown) => `${shown}: GitHub reports a server error.`),
];
