import type { Account } from './account.ts';
import type { Label } from './issue.ts';
import { emitPull, recordEvent, touchIssue } from './issue-acts.ts';
import { hasLabel, type Issue, type Repository } from './repository.ts';
import type { World } from './world.ts';

/** Makes the labels of an issue these; those that stay are not touched. */
export const setLabels = (world: World, issue: Issue, labels: readonly Label[], by: Account): void => {
  const wanted = new Map(labels.map((label) => [label.id, label]));
  for (const label of issue.labels) if (!wanted.has(label.id)) changeLabel(world, issue, label, 'unlabeled', by);
  for (const label of wanted.values()) if (!hasLabel(issue, label.name)) changeLabel(world, issue, label, 'labeled', by);
};

const changeLabel = (world: World, issue: Issue, label: Label, event: 'labeled' | 'unlabeled', by: Account): void => {
  const others = issue.labels.filter(({ id }) => id !== label.id);
  issue.labels = event === 'labeled' ? [...others, label] : others;
  recordEvent(world, issue, { event, label, actor: by });
  touchIssue(world, issue);
  emitPull(world, issue, { action: event, label }, by);
};

/** A label that the repository does not have yet is made on the way, as GitHub does it. */
export const ensureLabel = (world: World, repository: Repository, name: string, look?: Partial<Label>): Label => {
  const known = repository.labels.get(name.toLowerCase());
  if (known !== undefined) return known;
  const label = { id: world.nextId(), name, color: look?.color ?? 'ededed', description: look?.description ?? null };
  repository.labels.set(name.toLowerCase(), label);
  world.touch(repository);
  return label;
};
