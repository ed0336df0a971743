import { pullRequests, type Repository } from '../state/repository.ts';

/** A bare repository with the refs of this moment; as on GitHub, each pull request has one that outlives its branch. */
export const writeGitFolder = (repository: Repository): string => {
  const { id, network, defaultBranch, refs } = repository;
  const pulls = pullRequests(repository).map(({ number, headSha }) => [`refs/pull/${number}/head`, headSha] as const);
  return network.writeRepository(String(id), defaultBranch, new Map([...refs, ...pulls]));
};
