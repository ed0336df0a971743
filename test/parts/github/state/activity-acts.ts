import type { Activity } from './activity.ts';
import type { Repository } from './repository.ts';
import type { World } from './world.ts';

/** Tags are not noted. */
export const recordActivity = (
  world: World,
  repository: Repository,
  activity: Pick<Activity, 'type' | 'ref' | 'before' | 'after' | 'actor'>,
): void => {
  if (!activity.ref.startsWith('refs/heads/')) return;
  const at = world.now();
  repository.activities.push({ ...activity, id: world.nextId(), at, listedAt: at + repository.activityDelayMs });
};
