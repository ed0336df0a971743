import type { Handlers } from '../api/handlers.ts';
import type { EnvironmentRequests } from './environment-requests.ts';

/** Answered once the request is written to Git. */
export const createRequestHandlers = (requests: EnvironmentRequests): Handlers<'createEnvironment' | 'removeEnvironment'> => ({
  createEnvironment: ({ body, signal }) => requests.bringUp(body, signal),
  removeEnvironment: ({ environment: { project, ref }, query: { force = false }, signal }) =>
    requests.takeDown({ project, ref }, force, signal),
});
