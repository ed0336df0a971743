import type { Shape } from '../openapi/shapes.ts';
import type { Activity } from '../state/activity.ts';
import type { GithubState } from '../state/github-state.ts';
import { accountView } from './account-view.ts';
import { iso, nodeId } from './text.ts';

const noCommit = '0'.repeat(40);

export const activityView = (github: GithubState, activity: Activity): Shape<'activity'> => ({
  id: activity.id,
  node_id: nodeId('PSH', activity.id),
  before: activity.before ?? noCommit,
  after: activity.after ?? noCommit,
  ref: activity.ref,
  timestamp: iso(activity.at),
  activity_type: activity.type,
  actor: accountView(github, activity.actor),
});
