import type { FileContent } from '../git/git-objects.ts';
import { signatureOf } from '../state/account.ts';
import { openPullRequest } from '../state/issue-acts.ts';
import { ensureLabel, setLabels } from '../state/label-acts.ts';
import { branchRef } from '../state/repository.ts';
import { addBranch, createRepository } from '../state/repository-acts.ts';
import type { World } from '../state/world.ts';
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

/** Fills an account. Every commit is real, and none of them touches a disk until it is read. */
export const populate = (world: World, population: Population): void => {
  const owner = world.account(population.owner) ?? world.addAccount(population.owner, 'Organization');
  const by = person(world);
  const files = population.files ?? { 'README.md': 'Hello\n' };
  for (let index = 1; index <= population.repositories; index += 1) {
    const name = `service-${String(index).padStart(4, '0')}`;
    const repository = createRepository(world, { owner, name, private: true, defaultBranch: 'main', files, by });
    const parent = repository.refs.get(branchRef('main')) ?? '';
    for (let pull = 1; pull <= population.pullRequestsEach; pull += 1) {
      const headRef = `change-${pull}`;
      const author = signatureOf(by, world.now());
      const { sha } = repository.network.commit({ parents: [parent], files: {}, author, message: `Change ${pull} of ${name}` });
      addBranch(world, repository, headRef, sha, by);
      const spec = { headRepository: repository, headRef, baseRef: 'main', title: `Change ${pull}`, body: null, draft: false };
      const opened = openPullRequest(world, repository, { ...spec, author: by });
      const labels = (population.labels?.(pull, index) ?? []).map((label) => ensureLabel(world, repository, label));
      setLabels(world, opened, labels, by);
    }
  }
};
