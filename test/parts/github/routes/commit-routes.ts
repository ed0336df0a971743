import { readCommit } from '../git/git-reading.ts';
import { found, ok } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import { gitCommitView } from '../views/git-view.ts';

export const commitRoutes: readonly Route[] = [
  repositoryRoute('git/get-commit', ['contents:read'], 'read', async ({ github, repository, path }) => {
    const commit = found(await readCommit(repository.network, path.commit_sha));
    return ok(gitCommitView(github, repository, commit), commit.committer.atMs);
  }),
];
