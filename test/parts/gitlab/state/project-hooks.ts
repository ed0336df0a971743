import type { Hook, Project } from './entities.ts';
import type { GitlabState } from './state.ts';

/** https://docs.gitlab.com/api/project_webhooks/#add-a-webhook-to-a-project: pushes only, unless asked for more */
export const addHook = (state: GitlabState, project: Project, url: string, settings: Readonly<Record<string, unknown>>): Hook => {
  const { token, ...rest } = settings;
  const all = { push_events: true, enable_ssl_verification: true, ...rest };
  const hook: Hook = {
    id: state.nextId(),
    createdAt: state.now(),
    url,
    token: token as string | undefined,
    settings: new Map(Object.entries(all).filter(([, value]) => value !== undefined)),
  };
  project.hooks.set(hook.id, hook);
  state.touch();
  return hook;
};
