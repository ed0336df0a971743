import type { Route } from '../http/route.ts';
import { accountRoutes } from './account-routes.ts';
import { activityRoutes } from './activity-routes.ts';
import { appRoutes } from './app-routes.ts';
import { commentRoutes } from './comment-routes.ts';
import { commitRoutes } from './commit-routes.ts';
import { deploymentRoutes } from './deployment-routes.ts';
import { issueRoutes } from './issue-routes.ts';
import { pullRoutes } from './pull-routes.ts';
import { repositoryRoutes } from './repository-routes.ts';
import { statusRoutes } from './status-routes.ts';

/** Every operation of GitHub that the emulator has. */
export const allRoutes = (tokenLifeMs: number, newToken: () => string): readonly Route[] => [
  ...appRoutes(tokenLifeMs, newToken),
  ...accountRoutes,
  ...repositoryRoutes,
  ...pullRoutes,
  ...issueRoutes,
  ...commentRoutes,
  ...activityRoutes,
  ...commitRoutes,
  ...statusRoutes,
  ...deploymentRoutes,
];
