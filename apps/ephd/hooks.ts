import { EphError, type ProjectId } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import { Hono } from 'hono';

/** `POST /hooks/git[?project=…]`, for a post-receive hook. It wakes the loop, which reads Git itself; the body is ignored. */
export const createHookRoutes = (engine: () => Engine, projects: { keys(): Iterable<ProjectId> }): Hono =>
  new Hono().post('/hooks/git', (c) => {
    const asked = c.req.query('project');
    const woken = [...projects.keys()].filter((id) => asked === undefined || id === asked);
    if (woken.length === 0) throw new EphError('api.not_found', `there is no project ${JSON.stringify(asked)}`);
    for (const id of woken) engine().announce(id);
    return c.json({ woken }, 202);
  });
