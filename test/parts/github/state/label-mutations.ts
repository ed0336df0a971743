import type { Account } from './account.ts';
import type { GithubState } from './github-state.ts';
import type { Label } from './issue.ts';
import { emitPull, recordEvent, touchIssue } from './issue-mutations.ts';
import { hasLabel, type Issue, type Repository } from './repository.ts';

/** Makes the labels of an issue these; those that stay are not touched. */
export const setLabels = (github: GithubState, issue: Issue, labels: readonly Label[], by: Account): void => {
  const wanted = new Map(labels.map((label) => [label.id, label]));
  for (const label of issue.labels) if (!wanted.has(label.id)) changeLabel(github, issue, label, 'unlabeled', by);
  for (const label of wanted.values()) if (!hasLabel(issue, label.name)) changeLabel(github, issue, label, 'labeled', by);
};

const changeLabel = (github: GithubState, issue: Issue, label: Label, event: 'labeled' | 'unlabeled', by: Account): void => {
  const others = issue.labels.filter(({ id }) => id !== label.id);
  issue.labels = event === 'labeled' ? [...others, label] : others;
  recordEvent(github, issue, { event, label, actor: by });
  touchIssue(github, issue);
  emitPull(github, issue, { action: event, label }, by);
};

/** A label that the repository does not have yet is made on the way, as GitHub does it. */
export const ensureLabel = (github: GithubState, repository: Repository, name: string): Label => {
  const known = repository.labels.get(name.toLowerCase());
  if (known !== undefined) return known;
  const label = { id: github.nextId(), name, color: 'ededed', description: null };
  repository.labels.set(name.toLowerCase(), label);
  github.touch(repository);
  return label;
};
