import { type AnswerTable, gone, refused, retry } from '../forge-http/answer.ts';

/**
 * The meaning of Gitea's and Forgejo's statuses. In addition:
 * - 200 without `X-Total-Count`, with another number of items, or with an invalid body: incomplete. A proxy answered, or
 *   not all arrived.
 * - 200 with an empty list of pull requests after more than two, or on the first reading: incomplete, unless the
 *   repository says that none is open.
 * - 200 with an empty list of comments, reviews or changed files: incomplete, unless the pull request counts none. A
 *   timeline that is empty, lacks a comment, or does not show when a present label was added: incomplete.
 * - 404 for a pull request: gone, if the repository can be read. Otherwise unknown: Gitea answers 404 for everything in
 *   a repository that was deleted, made private or closed to the token.
 * - 404 for the list of pull requests: complete and empty, if the repository cannot have any (disabled, a mirror, no
 *   commit yet); otherwise incomplete.
 * - A closed pull request: gone.
 * - 404 for an owner, or 200 without repositories: incomplete, because missing permissions look the same.
 */
export const giteaAnswers: AnswerTable = [
  refused(401, (shown) => `${shown}: the token is invalid or expired; give Eph a new one.`),
  refused(
    403,
    (shown) =>
      `${shown} denies access; the account of Eph must be an administrator of the repository, and its token needs the scopes write:repository, write:issue and read:user.`,
  ),
  gone(404, (shown) => `${shown} does not exist, or Eph may not see it; check the address and the permissions of the account.`),
  refused([409, 422], (shown) => `${shown} rejected the request as invalid.`),
  refused(423, (shown) => `${shown} is archived or locked, so Eph cannot write to it.`),
  retry(429, (shown) => `${shown}: the forge asks for a pause.`),
  retry([500, 599], (shown) => `${shown}: the forge reports a server error.`),
];
