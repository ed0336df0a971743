import { failure, type ProjectId } from '@eph/contract';
import { type Decision, unwanted } from '../desired/decisions.ts';
import type { NewRecord } from './record.ts';
import type { Records } from './records.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';

/** That a project is not configured may be a mistake: only an operator releases its environments. */
export const withoutProject = (id: ProjectId): Pick<NewRecord, 'decision' | 'source' | 'head'> => ({
  decision: unwanted(`project ${id} is not configured here`),
  source: undefined,
  head: undefined,
});

/** Projects were removed: what runs for them ends, and their environments are held. */
export const holdAll = (records: Records, left: Iterable<ProjectId>): Result => {
  const keys: Key[] = [];
  for (const id of left) {
    keys.push(projectKey(id));
    for (const record of records.forgetProject(id)) {
      const changes = { held: true, permitted: false, settled: false, reportedCommit: undefined };
      records.update(record, { ...withoutProject(id), ...changes });
      keys.push(environmentKey(record.id));
    }
  }
  return { supersede: keys, wake: ['pass', ...keys] };
};

/** Projects were added: what they had before is neither held nor removed until they have been read. */
export const unholdAll = (records: Records, joined: Iterable<ProjectId>): Result => {
  const supersede: Key[] = [];
  for (const id of joined) {
    const fault = failure('forge.incomplete', `project ${id} has not been read yet`);
    const decision: Decision = { state: 'unknown', because: fault.message, fault };
    for (const record of records.project(id).environments.values()) {
      records.update(record, { decision, held: false, permitted: false });
      supersede.push(environmentKey(record.id));
    }
  }
  return { supersede, wake: ['pass'] };
};
