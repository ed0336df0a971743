import { type AnswerTable, gone, incomplete, refused, retry } from '../forge-http/answer.ts';

/**
 * The meaning of GitLab's statuses. In addition:
 * - 200 for a list without `X-Next-Page`, with another number of items than `X-Total`, or with an invalid body:
 *   incomplete. A proxy answered, or not all arrived.
 * - 200 with an empty list of open merge requests after more than two, or on the first reading: incomplete, unless the
 *   list of all merge requests agrees.
 * - 200 with an empty list of comments: incomplete, unless the merge request counts none. Of versions: incomplete. Of
 *   reactions: accepted after three equal answers.
 * - 200 with an empty list of environments: checked with the known one, or with another list.
 * - 200 with events that do not show when a present label was added: incomplete.
 * - 404 for the list of merge requests: incomplete. GitLab answers 404 for everything in a project that was deleted,
 *   made private or closed to the token.
 * - 404 for one merge request: gone, if the project can be read; otherwise unknown.
 * - A closed or merged merge request: gone. One that is being merged is still there.
 * - 404 for an owner, or 200 without repositories: incomplete, because missing permissions look the same.
 */
export const gitlabAnswers: AnswerTable = [
  incomplete(
    [300, 399],
    (shown) => `${shown}: GitLab redirects to another address; check the address of the forge and the path of the project.`,
  ),
  refused(401, (shown) => `${shown}: the token is invalid or expired; give Eph a new one.`),
  retry(
    403,
    (shown) => `${shown}: GitLab asks for a pause.`,
    ({ headers }) => headers.has('retry-after'),
  ),
  refused(
    403,
    (shown) =>
      `${shown} denies access; the token needs the scope api and the role Developer, or Maintainer for protected branches.`,
  ),
  gone(404, (shown) => `${shown} does not exist, or Eph may not see it; check the path and the permissions of the token.`),
  refused(405, (shown) => `${shown} cannot be changed under this path; if the project was moved, configure its new path.`),
  retry(408, (shown) => `${shown}: GitLab reports a server error.`),
  retry(409, (shown) => `${shown}: the request conflicts with another one.`),
  refused(400, (shown) => `${shown} rejected the request as invalid.`),
  retry(429, (shown) => `${shown}: GitLab asks for a pause.`),
  retry([500, 599], (shown) => `${shown}: GitLab reports a server error.`),
];
