import type { Activity } from './activity.ts';
import type { GithubState } from './github-state.ts';
import type { Repository } from './repository.ts';

/** Activities of tags are not recorded. */
export const recordActivity = (
  github: GithubState,
  repository: Repository,
  activity: Pick<Activity, 'type' | 'ref' | 'before' | 'after' | 'actor'>,
): void => {
  if (!activity.ref.startsWith('refs/heads/')) return;
  const at = github.now();
  repository.activities.push({ ...activity, id: github.nextId(), at, listedAt: at + repository.activityDelayMs });
};
