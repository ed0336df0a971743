import { cursorPage } from '../http/answer.ts';
import { type Route, repositoryRoute } from '../http/route.ts';
import type { QueryOf } from '../openapi/shapes.ts';
import type { Activity } from '../state/activity.ts';
import { branchRef } from '../state/repository.ts';
import { activityView } from '../views/activity-view.ts';

const dayMs = 24 * 3_600_000;
const periodDays = { day: 1, week: 7, month: 30, quarter: 90, year: 365 } as const;

export const activityRoutes: readonly Route[] = [
  {
    ...repositoryRoute('repos/list-activities', ['contents:read'], 'read', ({ github, repository, query }) => {
      const wanted = repository.activities.filter((activity) => isWanted(activity, query, github.now()));
      return cursorPage(wanted, query.direction ?? 'desc', (activity) => activityView(github, activity));
    }),
    changesWithTime: true,
  },
];

const isWanted = (activity: Activity, query: QueryOf<'repos/list-activities'>, now: number): boolean => {
  const { ref, actor, activity_type: type, time_period: period } = query;
  return (
    activity.listedAt <= now &&
    (ref === undefined || activity.ref === ref || activity.ref === branchRef(ref)) &&
    (actor === undefined || activity.actor.login.toLowerCase() === actor.toLowerCase()) &&
    (type === undefined || activity.type === type) &&
    (period === undefined || activity.at > now - periodDays[period] * dayMs)
  );
};
