import type { Refusal } from '../forge-http/answer.ts';
import { type GitlabClient, parserOf } from './gitlab-client.ts';
import { projectShape } from './shapes.ts';

const parseProject = parserOf(projectShape);

/** Whether a resource does not exist. A 404 is reliable only if the project can be read. */
export const isGone = async (client: GitlabClient, { meaning }: Refusal, signal: AbortSignal): Promise<boolean> =>
  meaning === 'gone' && (await client.read('', parseProject, { signal, fresh: true })).ok;
