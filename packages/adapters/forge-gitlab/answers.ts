import type { AnswerTable } from '../forge-http/answer.ts';

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
  {
    status: [300, 399],
    meaning: 'incomplete',
    code: 'forge.incomplete',
    message: (shown) =>
      `${shown}: GitLab redirects to another address; check the address of the forge and the path of the project.`,
  },
  {
    status: 401,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown}: the token is invalid or expired; give Eph a new one.`,
  },
  {
    status: 403,
    when: (headers) => headers.has('retry-after'),
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitLab asks for a pause.`,
  },
  {
    status: 403,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) =>
      `${shown} denies access; the token needs the scope api and the role Developer, or Maintainer for protected branches.`,
  },
  {
    status: 404,
    meaning: 'gone',
    code: 'forge.unreachable',
    message: (shown) => `${shown} does not exist, or Eph may not see it; check the path and the permissions of the token.`,
  },
  {
    status: 405,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} cannot be changed under this path; if the project was moved, configure its new path.`,
  },
  {
    status: 408,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitLab reports a server error.`,
  },
  {
    status: 409,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: the request conflicts with another one.`,
  },
  {
    status: 400,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} rejected the request as invalid.`,
  },
  {
    status: 429,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitLab asks for a pause.`,
  },
  {
    status: [500, 599],
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitLab reports a server error.`,
  },
];
