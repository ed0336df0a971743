import { EphError, type ProjectId } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import type { Handlers } from './api/handlers.ts';
import { notFound } from './api/located-refusal.ts';

/** Wakes the loop, which reads Git itself. */
export const createHookHandlers = (
  engine: () => Pick<Engine, 'announce'>,
  projects: { keys(): Iterable<ProjectId> },
): Handlers<'wake'> => ({
  wake({ query: { project }, caller }) {
    const asked = [...projects.keys()].filter((id) => project === undefined || id === project);
    const woken = asked.filter((id) => caller.may('hooks.wake', id));
    if (woken.length === 0 && project === undefined) throw new EphError('api.not_found', 'ephd watches no project');
    if (woken.length === 0) throw notFound(`there is no project ${JSON.stringify(project)}`, asked[0] && { project: asked[0] });
    for (const id of woken) engine().announce(id);
    return { woken };
  },
});
