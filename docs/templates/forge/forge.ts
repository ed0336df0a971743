import { createGitForge, type GitForgeOptions } from '@eph/adapters/forge-git/git-forge';
import {
  commitSha,
  completeReading,
  incompleteReading,
  markSources,
  type ProjectId,
  type Reading,
  type Source,
  toFailure,
} from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import type { ApiPull, TemplateApi } from './api.ts';

export interface TemplateForgeOptions extends GitForgeOptions {
  readonly api: TemplateApi;
}

/**
 * A forge to begin with. Branches, tags and files come from Git, which lists them completely in one exchange; pull
 * requests come from the API. `pulls` is left out: checks, commands and approvals need an API that knows them.
 */
export const createTemplateForge = (options: TemplateForgeOptions): Forge & AsyncDisposable => {
  const { project, api } = options;
  const git = createGitForge(options);

  const listPulls = (): Reading<Source> => {
    try {
      const open = api.read().pulls.filter(({ isOpen }) => isOpen);
      return completeReading(open.map((pull) => toSource(project, pull)));
    } catch (error) {
      // What cannot be read is unknown, never gone.
      return incompleteReading([], toFailure(error));
    }
  };

  return {
    ...git,

    async sources(signal) {
      const refs = await git.sources(signal);
      const pulls = listPulls();
      const items = [...refs.items, ...pulls.items];
      const isComplete = refs.complete && pulls.complete;
      return isComplete ? completeReading(items, markSources(items)) : incompleteReading(items, ...refs.faults, ...pulls.faults);
    },

    async source(ref, signal) {
      if (ref.kind !== 'pr') return await git.source(ref, signal);
      try {
        const pull = api.read().pulls.find(({ number }) => String(number) === ref.name);
        return pull?.isOpen === true ? { state: 'present', source: toSource(project, pull) } : { state: 'gone' };
      } catch (error) {
        return { state: 'unknown', fault: toFailure(error) };
      }
    },
  };
};

const toSource = (project: ProjectId, { number, title, author, labels, head, base, commit, updated }: ApiPull): Source => ({
  project,
  ref: { kind: 'pr', name: String(number) },
  commit: commitSha(commit),
  pull: {
    title,
    author,
    draft: false,
    labels,
    head,
    base,
    fork: null,
    page: `https://forge.invalid/${number}`,
    touched: updated,
  },
});
