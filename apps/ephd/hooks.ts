import { EphError, type ProjectId } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import type { Handlers } from './api/handlers.ts';

/** Wakes the loop, which reads Git itself. */
export const createHookHandlers = (engine: () => Engine, projects: { keys(): Iterable<ProjectId> }): Handlers<'wake'> => ({
  wake({ query: { project }, caller }) {
    const own = [...projects.keys()].filter((id) => caller.may('hooks.wake', id));
    const woken = own.filter((id) => project === undefined || id === project);
    if (woken.length === 0) throw new EphError('api.not_found', `there is no project ${JSON.stringify(project)}`);
    for (const id of woken) engine().announce(id);
    return { woken };
  },
});
