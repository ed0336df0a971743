import type { Refusal } from '../forge-http/answer.ts';
import { type GitlabClient, parserOf } from './gitlab-client.ts';
import { projectShape } from './shapes.ts';

const parseProject = parserOf(projectShape);

/** Whether what was asked for does not exist. Only a project that can be read can say so of something in it. */
export const isGone = async (client: GitlabClient, { meaning }: Refusal, signal: AbortSignal): Promise<boolean> =>
  meaning === 'gone' && (await client.read('', parseProject, { signal, fresh: true })).ok;
