import type { AnswerTable } from '../forge-http/answer.ts';
import type { ObservedAnswer } from '../forge-http/gate.ts';

/**
 * The meaning of GitHub's statuses. In addition:
 * - A timeout, a broken connection or a truncated body: retry.
 * - 200 with an invalid body: incomplete.
 * - 200 with an empty list of pull requests after more than two, or on the first reading: incomplete, unless another
 *   endpoint confirms it.
 * - 200 with an empty list of comments or reactions: incomplete, unless the pull request counts none. Of reviews:
 *   incomplete, if its timeline shows one. Of deployments: incomplete, if a known one still exists or another list shows
 *   some.
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
  {
    status: 401,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown}: the credentials are invalid or expired; give Eph new ones.`,
  },
  {
    status: 403,
    when: (headers) => headers.get('x-ratelimit-remaining') === '0',
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: the rate limit of GitHub is exhausted until it resets.`,
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
      `${shown} denies access; the App needs to read and write issues, pull requests, commit statuses and deployments and to read checks, contents and metadata; a token needs the scope repo.`,
  },
  {
    status: 404,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown} does not exist, or Eph may not see it; check its name and the permissions that Eph was given.`,
  },
  {
    status: 409,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown} is empty, or the write conflicts with its current state.`,
  },
  {
    status: 410,
    meaning: 'gone',
    code: 'forge.refused',
    message: (shown) => `${shown}: the resource was deleted or disabled.`,
  },
  {
    status: 422,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} rejected the request as invalid.`,
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
    message: (shown) => `${shown} is blocked for legal reasons.`,
  },
  {
    status: [500, 599],
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitHub reports a server error.`,
  },
];

/** Secondary limits are 403 or 429, with or without a duration. */
export const isThrottle = ({ status, body }: Pick<ObservedAnswer, 'status' | 'body'>): boolean =>
  (status === 403 || status === 429) && /secondary rate limit|abuse detection/i.test(body);
