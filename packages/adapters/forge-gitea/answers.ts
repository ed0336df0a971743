import type { AnswerTable } from '../forge-http/answer.ts';

/**
 * What the statuses of Gitea and Forgejo mean. Besides these:
 * - 200 without `X-Total-Count`, with another number of items than it says, or with a body of another shape: incomplete. It was not the
 *   forge that answered, or not all of the answer arrived.
 * - 200 with an empty list of pull requests after more than two, or as the first answer of all: incomplete, unless the repository itself
 *   says that none is open.
 * - 200 with an empty list of comments, reviews or changed files: incomplete, unless the pull request itself counts none. A timeline that
 *   is empty, that lacks a comment, or that does not tell when a label was added that is there: incomplete.
 * - 404 for a pull request: gone, if the repository can be read. Otherwise nothing follows: Gitea says 404 of everything in a repository
 *   that was deleted, made private or closed to the token.
 * - 404 for the list of pull requests: complete and empty, if the repository says that it cannot have any (switched off, a mirror, no
 *   commit yet); otherwise incomplete.
 * - A pull request that is closed: gone.
 * - 404 for an owner, or 200 without any of its repositories: incomplete. Nobody can tell it from rights that are missing.
 */
export const giteaAnswers: AnswerTable = [
  {
    status: 401,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown}: the token is not valid, or not any more; give Eph a new one.`,
  },
  {
    status: 403,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) =>
      `${shown} refuses this to Eph; its account must be an administrator of the repository, and its token needs the scopes write:repository, write:issue and read:user.`,
  },
  {
    status: 404,
    meaning: 'gone',
    code: 'forge.unreachable',
    message: (shown) => `${shown} does not exist, or Eph may not see it; check the address and the rights of the account.`,
  },
  {
    status: [409, 422],
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} does not accept what Eph wants to write.`,
  },
  {
    status: 423,
    meaning: 'refused',
    code: 'forge.refused',
    message: (shown) => `${shown} is archived or locked; nothing can be written to it.`,
  },
  {
    status: 429,
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: the forge asks for a pause.`,
  },
  {
    status: [500, 599],
    meaning: 'retry',
    code: 'forge.unreachable',
    message: (shown) => `${shown}: the forge is in trouble.`,
  },
];
