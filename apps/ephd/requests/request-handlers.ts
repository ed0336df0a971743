import { describeSource, parseSpec } from '@eph/contract';
import { isTimeLabel, keepLabel, pauseLabel, timeLabel } from '@eph/engine/desired/labels';
import type { Engine } from '@eph/engine/loop/engine';
import { chooseProject, type ProjectIds } from '../api/find-project.ts';
import type { Handlers } from '../api/handlers.ts';
import type { EnvironmentRequests } from './environment-requests.ts';

type RequestRoute =
  | 'planSource'
  | 'createEnvironment'
  | 'removeEnvironment'
  | 'pinEnvironment'
  | 'unpinEnvironment'
  | 'extendEnvironment'
  | 'pauseEnvironment'
  | 'resumeEnvironment';

const lasting = 'its environment lasts as long as it does; `environment.ttl` in `eph.yaml` is for labelled pull requests';
const following = 'its environment follows it; take it out of `triggers` in `eph.yaml`, or push to another branch';

/** Answered once the request is written to Git. */
export const createRequestHandlers = (
  requests: EnvironmentRequests,
  planSource: Engine['planSource'],
  projects: ProjectIds,
): Handlers<RequestRoute> => ({
  async planSource({ body, caller, signal }) {
    const project = chooseProject(body.project, 'environments.read', projects, caller);
    const source = await requests.readPlanned(project, body, signal);
    const file = body.file === undefined ? undefined : parseSpec(new TextEncoder().encode(body.file), 'eph.yaml');
    const plan = await planSource(source, file, (one) => caller.may('environments.read', one), signal);
    return { ...plan, actions: [...plan.actions] };
  },
  createEnvironment({ body, caller, narrowTo, addToAudit, signal }) {
    addToAudit({ source: describeSource(body.source) });
    const project = chooseProject(body.project, 'environments.change', projects, caller);
    narrowTo(project);
    return requests.bringUp(project, body.source, signal);
  },
  removeEnvironment({ environment, query: { force = false }, addToAudit, signal }) {
    addToAudit({ force });
    return requests.takeDown(environment, force, signal);
  },
  pinEnvironment: ({ environment, signal }) =>
    requests.changeLabels(environment, { type: 'lifetime', add: keepLabel, instead: lasting }, signal),
  unpinEnvironment: ({ environment, signal }) =>
    requests.changeLabels(environment, { type: 'lifetime', removes: (label) => label === keepLabel, instead: lasting }, signal),
  extendEnvironment({ environment, body, addToAudit, signal }) {
    addToAudit({ for: body.for });
    const change = { type: 'lifetime', add: timeLabel(body.for), removes: isTimeLabel, instead: lasting } as const;
    return requests.changeLabels(environment, change, signal);
  },
  pauseEnvironment: ({ environment, signal }) =>
    requests.changeLabels(environment, { type: 'pause', add: pauseLabel, instead: following }, signal),
  resumeEnvironment: ({ environment, signal }) =>
    requests.changeLabels(environment, { type: 'pause', removes: (label) => label === pauseLabel, instead: following }, signal),
});
