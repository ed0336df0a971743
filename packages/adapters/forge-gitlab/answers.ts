import type { AnswerTable } from '../forge-http/answer.ts';

/**
 * What the statuses of GitLab mean. Besides these:
 * - 200 without `X-Next-Page` where a list was asked for, with another number of items than `X-Total` says, or with a body of another
 *   shape: incomplete. It was not GitLab that answered, or not all of the answer arrived.
 * - 200 with an empty list of open merge requests after more than two, or as the first answer of all: incomplete, unless the list of all
 *   merge requests, whatever their state, agrees.
 * - 200 with an empty list of comments: incomplete, unless the merge request itself counts none. Of versions: incomplete. Of reactions:
 *   believed when it is said three times.
 * - 200 with an empty list of environments: the one that is known, or another list, is asked before anything is taken for gone.
 * - 200 with a list of events that does not tell when a label was added that is there: incomplete.
 * - 404 for the list of merge requests: incomplete. GitLab says 404 of everything in a project that was deleted, made private or closed
 *   to the token.
 * - 404 for one merge request: gone, if the project can be read. Otherwise nothing follows.
 * - A merge request that is closed or merged: gone. One that is being merged is still there.
 * - 404 for an owner, or 200 without any of its repositories: incomplete. Nobody can tell it from rights that are missing.
 */
export const gitlabAnswers: AnswerTable = [
  {
    status: [300, 399],
    meaning: 'incomplete',
    code: 'forge.incomplete',
    message: (shown) => `${shown}: GitLab sends Eph elsewhere; check the address of the forge and the path of the project.`,
  },
  {
    status: 401,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown}: the token is not valid, or not any more; give Eph a new one.`,
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
      `${shown} refuses this to Eph; its token needs the scope api and the role Developer, or Maintainer for protected branches.`,
  },
  {
    status: 404,
    meaning: 'gone',
    code: 'forge.unreachable',
    message: (shown) => `${shown} does not exist, or Eph may not see it; check the path and the rights of the token.`,
  },
  {
    status: 405,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} cannot be changed under this path; if the project was moved, tell Eph its new path.`,
  },
  {
    status: 408,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: GitLab is in trouble.`,
  },
  {
    status: 409,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: somebody else is changing the same.`,
  },
  {
    status: 400,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} does not accept what Eph wants to write.`,
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
    message: (shown) => `${shown}: GitLab is in trouble.`,
  },
];
