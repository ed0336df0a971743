import type { FileContent } from '../git/git-objects.ts';
import { signatureOf } from '../state/account.ts';
import type { GithubState } from '../state/github-state.ts';
import { openPullRequest } from '../state/issue-mutations.ts';
import { ensureLabel, setLabels } from '../state/label-mutations.ts';
import { branchRef } from '../state/repository.ts';
import { addBranch, createRepository } from '../state/repository-mutations.ts';
import { person } from './person.ts';

export interface Population {
  readonly owner: string;
  readonly repositories: number;
  readonly pullRequestsEach: number;
  /** Of every default branch. */
  readonly files?: Readonly<Record<string, FileContent>>;
  /** Of the pull request with this number (from 1) in its repository. */
  readonly labels?: (pullRequest: number, repository: number) => readonly string[];
}

/** Fills an account. Commits are real, but not written to disk until they are read. */
export const populate = (github: GithubState, population: Population): void => {
  const owner = github.account(population.owner) ?? github.addAccount(population.owner, 'Organization');
  const by = person(github);
  const files = population.files ?? { 'README.md': 'Hello\n' };
  for (let index = 1; index <= population.repositories; index += 1) {
    const name = `service-${String(index).padStart(4, '0')}`;
    const repository = createRepository(github, { owner, name, private: true, defaultBranch: 'main', files, by });
    const parent = repository.refs.get(branchRef('main')) ?? '';
    for (let pull = 1; pull <= population.pullRequestsEach; pull += 1) {
      const headRef = `change-${pull}`;
      const author = signatureOf(by, github.now());
      const { sha } = repository.network.commit({ parents: [parent], files: {}, author, message: `Change ${pull} of ${name}` });
      addBranch(github, repository, headRef, sha, by);
      const spec = { headRepository: repository, headRef, baseRef: 'main', title: `Change ${pull}`, body: null, draft: false };
      const opened = openPullRequest(github, repository, { ...spec, author: by });
      const labels = (population.labels?.(pull, index) ?? []).map((label) => ensureLabel(github, repository, label));
      setLabels(github, opened, labels, by);
    }
  }
};
